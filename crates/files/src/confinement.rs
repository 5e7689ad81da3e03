//! Which files may be read as instructions or configuration of a project: its links may lead anywhere inside of its
//! repository, and files with credentials are never instructions.
//!
//! A file is judged by where it is once it is open, so that nobody can exchange a link between the look and the reading.
//! Who owns a file is decided by the path that names it: the user's folders are the user's wherever they lie; what else
//! lies in the repository is the project's; everything else is the user's, who has named it. The files above the
//! repository, which also hold instructions, are confined to a repository or a folder of their own.

use crate::regular_files::{self, Kind};
use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

/// The folder of what agents share, in a project and above it.
const SHARED: &str = ".agents";

/// The option that lets links lead anywhere.
pub const FOLLOW_LINKS: &str = "--follow-links";

/// The folders in which a project's files must be, and the files that are no instructions. The default confines nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Confinement {
    /// The folders of the project: what is named below them belongs to it.
    project: Vec<PathBuf>,
    /// The folders in which its files must be, links resolved; empty: anywhere.
    roots: Vec<PathBuf>,
    /// Folders of the user, which may lie in the project.
    of_user: Vec<PathBuf>,
    /// Files and folders with credentials.
    credentials: Vec<PathBuf>,
    follows_links: bool,
}

impl Confinement {
    /// The rule for the project in `working`, an absolute path: its repository is the nearest folder with a `.git` at or
    /// above, else `working` itself. What is below `of_user` is the user's.
    pub fn new(
        working: &Path,
        of_user: Vec<PathBuf>,
        credentials: Vec<PathBuf>,
        follows_links: bool,
    ) -> Self {
        let real = real(working);
        let root = repository(&real).unwrap_or(&real).to_owned();
        let named = repository(working).unwrap_or(working).to_owned();
        let own = [root.join(".git"), root.join(".env"), working.join(".env")];
        // Where there is no repository, skills are searched up to the root of the file system.
        let shared = |folder: &Path| {
            folder.ancestors().skip(1).map(|folder| folder.join(SHARED)).collect::<Vec<PathBuf>>()
        };
        let above = [shared(&root), shared(&named)].concat();
        Self {
            roots: [root.clone()].into_iter().chain(shared(&root)).collect(),
            project: above.into_iter().chain([named, working.to_owned(), root]).collect(),
            of_user,
            credentials: credentials.into_iter().chain(own).collect(),
            follows_links,
        }
    }

    /// The rule for what a tool finds in the working directory by itself.
    pub fn of_project(working: &Path) -> Self {
        Self::new(working, Vec::new(), Vec::new(), false)
    }

    /// Lets the project's files be in `path`, too, which the user has named.
    pub fn admit(&mut self, path: &Path) {
        if let Ok(real) = path.canonicalize() {
            self.roots.push(real);
        }
    }

    /// Adds a file with credentials.
    pub fn forbid(&mut self, path: PathBuf) {
        self.credentials.push(path);
    }

    /// The bytes of a file of instructions.
    ///
    /// # Errors
    ///
    /// As `regular_files::read`; a link that leads out of the repository; a file with credentials.
    pub fn read(&self, path: &Path, kind: Kind) -> io::Result<Vec<u8>> {
        let file = regular_files::open(path)?;
        let real = real_path(&file, path)?;
        self.refuse_credentials(&real, &file.metadata()?)?;
        self.check(path, &real)?;
        regular_files::read_open(file, kind)
    }

    /// The bytes of a file of instructions that an option names: its links are followed.
    ///
    /// # Errors
    ///
    /// As `regular_files::read`; a file with credentials.
    pub fn read_named(&self, path: &Path, kind: Kind) -> io::Result<Vec<u8>> {
        let file = regular_files::open(path)?;
        self.refuse_credentials(&real_path(&file, path)?, &file.metadata()?)?;
        regular_files::read_open(file, kind)
    }

    /// The text of a file of configuration, which may hold credentials.
    ///
    /// # Errors
    ///
    /// As `regular_files::read_to_string`; a link that leads out of the repository.
    pub fn read_configuration(&self, path: &Path, kind: Kind) -> io::Result<String> {
        let file = regular_files::open(path)?;
        self.check(path, &real_path(&file, path)?)?;
        regular_files::text(regular_files::read_open(file, kind)?)
    }

    /// The bytes of a file of instructions in a folder above the repository: its links may lead anywhere in a
    /// repository of their own, else in that folder.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_above(&self, path: &Path, kind: Kind) -> io::Result<Vec<u8>> {
        if self.owner(path) != Owner::Nobody {
            return self.read(path, kind);
        }
        let file = regular_files::open(path)?;
        let target = real_path(&file, path)?;
        self.refuse_credentials(&target, &file.metadata()?)?;
        let folder = real(path.parent().unwrap_or(path));
        let root = repository(&folder).unwrap_or(&folder).to_owned();
        if !self.follows_links {
            check_inside(&target, &[root])?;
        }
        regular_files::read_open(file, kind)
    }

    /// Checks where a file or a folder is. Whoever opens it later has to check again.
    ///
    /// # Errors
    ///
    /// It belongs to the project and is not in its repository, or cannot be found.
    pub fn check_place(&self, path: &Path) -> io::Result<()> {
        if !self.is_confined(path) {
            return Ok(());
        }
        check_inside(&path.canonicalize()?, &self.roots)
    }

    /// Checks where something is that the project's own settings name: in the repository.
    ///
    /// # Errors
    ///
    /// It is elsewhere, or cannot be found.
    pub fn check_named_by_project(&self, path: &Path) -> io::Result<()> {
        match self.follows_links || self.roots.is_empty() {
            true => Ok(()),
            false => check_inside(&path.canonicalize()?, &self.roots),
        }
    }

    /// Whether the path names something of the project.
    pub fn owns(&self, path: &Path) -> bool {
        self.owner(path) == Owner::Project
    }

    fn check(&self, path: &Path, real: &Path) -> io::Result<()> {
        if self.is_confined(path) { check_inside(real, &self.roots) } else { Ok(()) }
    }

    fn is_confined(&self, path: &Path) -> bool {
        !self.follows_links && !self.roots.is_empty() && self.owner(path) == Owner::Project
    }

    /// The owner of a file by its name. A project may lie in a folder of the user, and the other way round: the innermost
    /// folder decides.
    fn owner(&self, path: &Path) -> Owner {
        let path = plain(path);
        let depth = |folders: &[PathBuf]| {
            let around = folders.iter().filter(|folder| path.starts_with(folder));
            around.map(|folder| folder.components().count()).max()
        };
        match (depth(&self.of_user), depth(&self.project)) {
            (None, None) => Owner::Nobody,
            (of_user, project) if of_user >= project => Owner::User,
            _ => Owner::Project,
        }
    }

    /// Refuses a file that is one of [`Self::credentials`], also by another name, or in one of their folders.
    fn refuse_credentials(&self, real: &Path, metadata: &Metadata) -> io::Result<()> {
        let mut identities = vec![identity(metadata)];
        identities.extend(real.ancestors().skip(1).filter_map(path_identity));
        match self
            .credentials
            .iter()
            .find(|path| path_identity(path).is_some_and(|it| identities.contains(&it)))
        {
            Some(path) => {
                let text = format!("it is {}, which holds credentials and no instructions", path.display());
                Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
            }
            None => Ok(()),
        }
    }
}

/// Whose a file is, by its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    User,
    Project,
    Nobody,
}

/// The nearest folder with a `.git`, a file or a folder, at or above `folder`.
pub fn repository(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())
}

/// File systems whose files are no project's that does not lie there itself: not even one in `/`.
const SYSTEM: [&str; 3] = ["/proc", "/sys", "/dev"];

fn check_inside(target: &Path, roots: &[PathBuf]) -> io::Result<()> {
    let is_inside = |root: &PathBuf| {
        let is_of_system = |folder: &&str| target.starts_with(folder) && !root.starts_with(folder);
        // A folder may have several names: by case, or by mounts.
        let is_below = || target.ancestors().any(|folder| same_folder(folder, root));
        !SYSTEM.iter().any(is_of_system) && (target.starts_with(root) || is_below())
    };
    if roots.iter().any(is_inside) {
        return Ok(());
    }
    let root = roots.first().map(|root| root.display().to_string()).unwrap_or_default();
    let text = format!("it leads to {}, out of {root}; {FOLLOW_LINKS} allows that", target.display());
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

fn same_folder(one: &Path, other: &Path) -> bool {
    path_identity(one).is_some_and(|one| path_identity(other) == Some(one))
}

/// The path of an open file, without links.
fn real_path(file: &File, path: &Path) -> io::Result<PathBuf> {
    #[cfg(target_os = "linux")]
    {
        use std::os::fd::AsRawFd as _;
        if let Ok(real) = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())) {
            return Ok(real);
        }
    }
    let real = path.canonicalize()?;
    match path_identity(&real) == Some(identity(&file.metadata()?)) {
        true => Ok(real),
        false => Err(io::Error::other("it was exchanged while it was read")),
    }
}

/// Device and inode: the identity of a file under all of its names.
fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn path_identity(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|metadata| identity(&metadata))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// The path without `.` and `..`, by name alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            _ => plain.push(part),
        }
    }
    plain
}
