//! Files that the agent reads and writes through its client. The agent runs as the same user, so no path is refused that
//! the user may use; devices and very large files are.

use agent_client_protocol::{
    Error,
    v1::schema::{ReadTextFileRequest, ReadTextFileResponse, WriteTextFileRequest, WriteTextFileResponse},
};
use std::path::Path;
use tokio::io::AsyncReadExt as _;

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// ACP's code for a resource that does not exist.
const RESOURCE_NOT_FOUND: i32 = -32002;

/// Reads a text file, or the lines of it that are requested.
pub async fn read(request: ReadTextFileRequest) -> Result<ReadTextFileResponse, Error> {
    check_path(&request.path)?;
    let path = request.path;
    let metadata = tokio::fs::metadata(&path).await.map_err(|error| failure(&path, &error))?;
    if !metadata.is_file() {
        return Err(invalid(format!("{}: expected a regular file", path.display())));
    }
    if metadata.len() > MAX_FILE {
        let length = metadata.len();
        return Err(invalid(format!("{}: {length} bytes; the limit is {MAX_FILE}", path.display())));
    }
    let file = tokio::fs::File::open(&path).await.map_err(|error| failure(&path, &error))?;
    let mut text = String::new();
    // It may grow while it is read.
    file.take(MAX_FILE).read_to_string(&mut text).await.map_err(|error| failure(&path, &error))?;
    Ok(ReadTextFileResponse::new(lines(text, request.line, request.limit)))
}

/// Writes a text file, and creates the folders that it is in.
pub async fn write(request: WriteTextFileRequest) -> Result<WriteTextFileResponse, Error> {
    check_path(&request.path)?;
    let path = request.path;
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await.map_err(|error| failure(folder, &error))?;
    }
    tokio::fs::write(&path, request.content).await.map_err(|error| failure(&path, &error))?;
    Ok(WriteTextFileResponse::new())
}

/// The `limit` lines from `line` on, which counts from 1.
fn lines(text: String, line: Option<u32>, limit: Option<u32>) -> String {
    if line.is_none() && limit.is_none() {
        return text;
    }
    let skipped = line.unwrap_or(1).saturating_sub(1) as usize;
    let count = limit.map_or(usize::MAX, |limit| limit as usize);
    text.split_inclusive('\n').skip(skipped).take(count).collect()
}

fn check_path(path: &Path) -> Result<(), Error> {
    match path.is_absolute() {
        true => Ok(()),
        false => Err(invalid(format!("path: expected an absolute path, got {}", path.display()))),
    }
}

fn invalid(text: String) -> Error {
    Error::invalid_params().data(serde_json::Value::String(text))
}

fn failure(path: &Path, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => Error::new(RESOURCE_NOT_FOUND, "Resource not found"),
        _ => Error::internal_error(),
    };
    kind.data(serde_json::Value::String(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_from_one() {
        let text = || "a\nb\r\nc".to_owned();
        assert_eq!(lines(text(), None, None), "a\nb\r\nc");
        assert_eq!(lines(text(), Some(2), Some(1)), "b\r\n");
        assert_eq!(lines(text(), Some(3), None), "c");
        assert_eq!(lines(text(), None, Some(0)), "");
        assert_eq!(lines(text(), Some(9), Some(1)), "");
    }

    #[tokio::test]
    async fn relative_paths_and_devices_are_refused() {
        let read = |path: &str| read(ReadTextFileRequest::new("s", path));
        assert!(read("notes.txt").await.unwrap_err().data.unwrap().to_string().contains("absolute"));
        assert!(read("/dev/zero").await.unwrap_err().data.unwrap().to_string().contains("regular"));
    }
}
