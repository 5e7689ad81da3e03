//! The host of an address.

/// The host of an `http` or `https` address, with a port that is not the usual one; `None`: the address is another one, or may
/// be read in two ways.
pub fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let usual = match scheme {
        "http" => "80",
        "https" => "443",
        _ => return None,
    };
    // Readers differ about backslashes, blanks and user names.
    if !url.chars().all(|it| it.is_ascii_graphic() && it != '\\') {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let (name, port) = authority.split_once(':').unwrap_or((authority, usual));
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '.';
    let is_port = !port.is_empty() && port.len() <= 5 && port.chars().all(|it| it.is_ascii_digit());
    if name.is_empty() || !name.chars().all(is_name) || !is_port {
        return None;
    }
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix('.').map_or(name.clone(), str::to_owned);
    Some(if port == usual { name } else { format!("{name}:{port}") })
}
