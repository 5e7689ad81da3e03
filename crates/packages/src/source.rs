//! Parses the names of packages.

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// `npm:name` or `npm:name@version`.
    Npm {
        /// As npm takes it.
        spec: String,
        /// Without the version.
        name: String,
    },
    /// `git:…`, or the address of a repository.
    Git {
        /// As git takes it.
        repository: String,
        /// The host.
        host: String,
        /// The path there, without `.git`.
        path: String,
        /// The branch, tag or commit that is wanted.
        reference: Option<String>,
    },
    /// A file or a folder.
    Local(String),
}

/// Short prefixes of the hosts of repositories.
const HOST_PREFIXES: [(&str, &str); 3] =
    [("github:", "github.com"), ("gitlab:", "gitlab.com"), ("bitbucket:", "bitbucket.org")];

impl Source {
    /// Parses the name of a package; anything that is neither of npm nor a repository is a path.
    pub(super) fn parse(text: &str) -> Self {
        if let Some(spec) = text.strip_prefix("npm:") {
            let spec = spec.trim();
            // A scope begins with the same letter as a version.
            let version = spec.char_indices().skip(1).find(|(_, letter)| *letter == '@');
            let name = version.map_or(spec, |(at, _)| &spec[..at]);
            return Self::Npm { spec: spec.to_owned(), name: name.to_owned() };
        }
        repository(text.trim()).unwrap_or_else(|| Self::Local(text.trim().to_owned()))
    }
}

fn repository(text: &str) -> Option<Source> {
    let (prefixed, address) = match text.strip_prefix("git:").filter(|rest| !rest.starts_with("//")) {
        Some(rest) => (true, rest.trim()),
        None => (false, text),
    };
    let (schemed, rest) = match address.split_once("://") {
        Some((scheme, rest)) if ["http", "https", "ssh", "git"].contains(&scheme) => (Some(scheme), rest),
        Some(_) => return None,
        None => (None, address),
    };
    if !prefixed && schemed.is_none() {
        return None;
    }
    let (rest, behind_hash) = split(rest, '#');
    let scp = rest.strip_prefix("git@").filter(|_| schemed.is_none());
    let short = HOST_PREFIXES.iter().find_map(|(short, host)| Some((*host, rest.strip_prefix(short)?)));
    let (host, path) = match (scp, short) {
        (Some(scp), _) => scp.split_once(':')?,
        (None, Some(known)) => known,
        (None, None) => match rest.split_once('/')? {
            (host, path) if schemed.is_some() || host.contains('.') || host == "localhost" => (host, path),
            // An owner and a repository.
            (_, name) if !name.contains('/') => ("github.com", rest),
            _ => return None,
        },
    };
    let (path, behind_at) = split(path, '@');
    let path = path.trim_matches('/');
    let repository = match (schemed, scp) {
        (Some(scheme), _) => format!("{scheme}://{host}/{path}"),
        (None, Some(_)) => format!("git@{host}:{path}"),
        (None, None) => format!("https://{host}/{path}"),
    };
    let path = path.strip_suffix(".git").unwrap_or(path);
    // User and port are no part of the identity of a host.
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host);
    let is_whole = !host.is_empty()
        && path.contains('/')
        && path.split('/').all(|part| !["", ".", ".."].contains(&part));
    is_whole.then(|| Source::Git {
        repository,
        host: host.to_owned(),
        path: path.to_owned(),
        reference: behind_hash.or(behind_at).map(str::to_owned),
    })
}

/// Splits a text at a mark; `None` without the mark.
fn split(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        // The user of an address stands before a mark, too.
        Some((before, _)) if mark == '@' && !before.contains('/') => (text, None),
        Some((before, behind)) => (before, Some(behind).filter(|behind| !behind.is_empty())),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git(repository: &str, host: &str, path: &str, reference: Option<&str>) -> Source {
        let [repository, host, path] = [repository, host, path].map(str::to_owned);
        Source::Git { repository, host, path, reference: reference.map(str::to_owned) }
    }

    #[test]
    fn npm_source_has_name_and_optional_version() {
        for (text, name) in
            [("npm:a", "a"), ("npm:a@1.2", "a"), ("npm: @a/b ", "@a/b"), ("npm:@a/b@^1", "@a/b")]
        {
            let spec = text["npm:".len()..].trim().to_owned();
            assert_eq!(Source::parse(text), Source::Npm { spec, name: name.to_owned() }, "{text}");
        }
    }

    #[test]
    fn git_source_has_address_or_prefix() {
        let of = |repository, reference| git(repository, "github.com", "a/b", reference);
        let https = "https://github.com/a/b";
        for (text, expected) in [
            ("git:github.com/a/b", of(https, None)),
            ("git:github.com/a/b@v1", of(https, Some("v1"))),
            ("git:a/b", of(https, None)),
            ("git:github:a/b#main", of(https, Some("main"))),
            ("https://github.com/a/b", of(https, None)),
            ("https://github.com/a/b.git@v1", of("https://github.com/a/b.git", Some("v1"))),
            ("git:git@github.com:a/b", of("git@github.com:a/b", None)),
            ("git:git@github.com:a/b@v1", of("git@github.com:a/b", Some("v1"))),
            ("ssh://git@github.com/a/b", of("ssh://git@github.com/a/b", None)),
            ("git:localhost/x/y/z", git("https://localhost/x/y/z", "localhost", "x/y/z", None)),
            ("http://h:81/x/y", git("http://h:81/x/y", "h", "x/y", None)),
        ] {
            assert_eq!(Source::parse(text), expected, "{text}");
        }
    }

    #[test]
    fn everything_else_is_a_path() {
        for text in
            ["./a", "/a", "~/a", "a.ts", "a/b", "github.com/a/b", "git:x", "git:h.x/../b", "file:///a/b"]
        {
            assert_eq!(Source::parse(text), Source::Local(text.to_owned()), "{text}");
        }
    }
}
