//! The input of a connection by the Agent Client Protocol, bounded in front of the library: that one would hold a line whatever
//! its length, and end with the first line that is not UTF-8.

use futures_util::stream::{Stream, try_unfold};
use pi_rpc_processes::line_reader::LineReader;
use std::io;
use tokio::io::AsyncRead;

/// What becomes of a line that cannot be read: too long, or not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLine {
    /// It is answered with a parse error, and the connection goes on.
    Answered,
    /// The connection ends: the line may have been the response that a request waits for.
    EndsConnection,
}

/// The lines of `from` that have at most `limit` bytes, each with its line feed.
pub fn lines(
    from: impl AsyncRead + Unpin + Send,
    limit: usize,
    bad_line: BadLine,
) -> impl Stream<Item = io::Result<io::Cursor<Vec<u8>>>> + Send {
    try_unfold(LineReader::new(from, limit), move |mut reader| async move {
        let line = match bad_line {
            BadLine::Answered => reader.next().await?.map(|line| match line {
                Ok(line) => match str::from_utf8(&line) {
                    Ok(_) => line,
                    Err(error) => unread(&format!("invalid UTF-8 at byte {}", error.valid_up_to())),
                },
                Err(error) => unread(&error.to_string()),
            }),
            BadLine::EndsConnection => reader.next_or_fail().await?.map(check_utf8).transpose()?,
        };
        Ok(line.map(|mut line| {
            line.push(b'\n');
            (io::Cursor::new(line), reader)
        }))
    })
}

/// The line in place of one that is not read: no JSON, so that the library answers with a parse error, which quotes it.
fn unread(reason: &str) -> Vec<u8> {
    format!("not read: {reason}").into_bytes()
}

fn check_utf8(line: Vec<u8>) -> io::Result<Vec<u8>> {
    match str::from_utf8(&line) {
        Ok(_) => Ok(line),
        Err(error) => {
            let text = format!("a line with invalid UTF-8 at byte {}", error.valid_up_to());
            Err(io::Error::new(io::ErrorKind::InvalidData, text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt as _, TryStreamExt as _};

    async fn passed(from: &[u8], bad_line: BadLine) -> Vec<Result<String, String>> {
        let lines = lines(from, 10, bad_line);
        let text = |line: io::Cursor<Vec<u8>>| String::from_utf8(line.into_inner()).unwrap();
        lines.map_ok(text).map_err(|error| error.to_string()).collect().await
    }

    #[tokio::test]
    async fn bad_lines_are_replaced_or_end() {
        let line = |text: &str| Ok(text.to_owned());
        let from = b"one\ntw\xff\n12345678901\nfour";
        assert_eq!(
            passed(from, BadLine::Answered).await,
            [
                line("one\n"),
                line("not read: invalid UTF-8 at byte 2\n"),
                line("not read: the line has 11 bytes, the limit is 10\n"),
                line("four\n"),
            ]
        );
        let invalid = Err("a line with invalid UTF-8 at byte 2".to_owned());
        assert_eq!(passed(from, BadLine::EndsConnection).await, [line("one\n"), invalid]);
        let long = Err("a line of more than 10 bytes".to_owned());
        assert_eq!(passed(b"12345678901", BadLine::EndsConnection).await, [long]);
    }
}
