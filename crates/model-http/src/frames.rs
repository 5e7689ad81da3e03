//! Splits the body of an answer into frames of `application/vnd.amazon.eventstream`, however its bytes arrive.

use super::body::{BODY_BYTES, EVENT_BYTES, ServerSentEvent};
use aws_smithy_eventstream::frame::{DecodedFrame, MessageFrameDecoder};
use aws_smithy_types::event_stream::Message;
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};
use serde_json::json;
use std::pin::Pin;

/// Decodes the frames in `pieces`, whose errors are texts for the answer, and yields each as an event: its type or its exception,
/// and its payload. Yields such a text as its last item when a checksum is wrong, the body ends within a frame, or a frame or
/// the whole body is too long.
pub fn frames(
    pieces: impl Stream<Item = Result<Bytes, String>> + Send,
) -> impl Stream<Item = Result<ServerSentEvent, String>> + Send {
    let body = FrameBuffer {
        pieces: Some(Box::pin(pieces)),
        decoder: MessageFrameDecoder::new(),
        bytes: BytesMut::new(),
        read: 0,
        unread: 0,
    };
    stream::unfold(body, |mut body| async move {
        let event = body.next().await?;
        if event.is_err() {
            body.pieces = None;
            body.bytes.clear();
            body.unread = 0;
        }
        Some((event, body))
    })
}

/// The bytes of a body that are not decoded yet.
struct FrameBuffer<P> {
    /// The source of bytes; `None`: it has ended.
    pieces: Option<Pin<Box<P>>>,
    decoder: MessageFrameDecoder,
    bytes: BytesMut,
    /// Bytes read so far.
    read: usize,
    /// Bytes read since the last frame.
    unread: usize,
}

impl<P: Stream<Item = Result<Bytes, String>>> FrameBuffer<P> {
    async fn next(&mut self) -> Option<Result<ServerSentEvent, String>> {
        loop {
            match self.decoder.decode_frame(&mut self.bytes) {
                Ok(DecodedFrame::Complete(frame)) => {
                    self.unread = self.bytes.len();
                    match event(&frame) {
                        Ok(None) => continue,
                        Ok(Some(event)) => return Some(Ok(event)),
                        Err(reason) => return Some(Err(reason)),
                    }
                }
                Ok(DecodedFrame::Incomplete) => {}
                Err(error) => {
                    return Some(Err(format!("terminated: the provider sent a broken frame: {error}")));
                }
            }
            match self.pieces.as_mut()?.next().await {
                Some(Ok(piece)) => {
                    self.read += piece.len();
                    self.unread += piece.len();
                    self.bytes.extend_from_slice(&piece);
                }
                Some(Err(reason)) => return Some(Err(reason)),
                None if self.unread == 0 => return None,
                None => return Some(Err("terminated: the provider sent half a frame".to_owned())),
            }
            if self.read > BODY_BYTES {
                return Some(Err(format!("The provider's answer takes more than {BODY_BYTES} bytes")));
            }
            if self.unread > EVENT_BYTES {
                let reason =
                    format!("terminated: the provider sent an event of more than {EVENT_BYTES} bytes");
                return Some(Err(reason));
            }
        }
    }
}

/// The event in a frame; `None`: a frame without a name.
fn event(frame: &Message) -> Result<Option<ServerSentEvent>, String> {
    let header = |name: &str| {
        let found = frame.headers().iter().find(|header| header.name().as_str() == name)?;
        Some(found.value().as_string().ok()?.as_str())
    };
    let Ok(payload) = str::from_utf8(frame.payload()) else {
        return Err("terminated: the provider's answer is not UTF-8".to_owned());
    };
    let (name, data) = match header(":message-type") {
        Some("exception") => (header(":exception-type"), payload.to_owned()),
        Some("error") => {
            let told = json!({"code": header(":error-code"), "message": header(":error-message")});
            (Some("error"), told.to_string())
        }
        _ => (header(":event-type"), payload.to_owned()),
    };
    Ok(name.map(|name| ServerSentEvent { name: name.to_owned(), data }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_smithy_eventstream::frame::write_message_to;
    use aws_smithy_types::event_stream::{Header, HeaderValue};

    fn frame(headers: &[(&'static str, &'static str)], payload: &'static str) -> Vec<u8> {
        let header = |(name, value): &(&'static str, &'static str)| {
            Header::new(*name, HeaderValue::String((*value).into()))
        };
        let message = Message::new_from_parts(headers.iter().map(header).collect(), payload);
        let mut bytes = Vec::new();
        write_message_to(&message, &mut bytes).expect("a frame");
        bytes
    }

    fn ping() -> Vec<u8> {
        frame(&[(":message-type", "event"), (":event-type", "ping")], "{\"p\":1}")
    }

    /// What comes of the bytes in pieces of `size`.
    fn decoded(bytes: &[u8], size: usize) -> Vec<Result<(String, String), String>> {
        let pieces: Vec<_> = bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let events = futures_util::FutureExt::now_or_never(frames(stream::iter(pieces)).collect::<Vec<_>>());
        let told = |event: ServerSentEvent| (event.name, event.data);
        events.expect("nothing to wait for").into_iter().map(|event| event.map(told)).collect()
    }

    #[test]
    fn frames_become_events_wherever_cut() {
        let mut bytes = ping();
        bytes.extend(frame(&[(":message-type", "exception"), (":exception-type", "aException")], "{}"));
        bytes.extend(frame(&[], "{}"));
        let error = [(":message-type", "error"), (":error-code", "c"), (":error-message", "m")];
        bytes.extend(frame(&error, ""));
        let event = |name: &str, data: &str| Ok((name.to_owned(), data.to_owned()));
        let expected = [
            event("ping", "{\"p\":1}"),
            event("aException", "{}"),
            event("error", r#"{"code":"c","message":"m"}"#),
        ];
        for size in 1..=bytes.len() {
            assert_eq!(decoded(&bytes, size), expected, "{size}");
        }
    }

    #[test]
    fn cut_frame_fails_at_each_byte() {
        let whole = ping();
        let cut = "terminated: the provider sent half a frame".to_owned();
        for length in 1..whole.len() {
            let twice = [&whole, &whole[..length]].concat();
            assert_eq!(decoded(&twice, 7).pop(), Some(Err(cut.clone())), "{length}");
        }
    }

    #[test]
    fn broken_byte_fails_at_each_place() {
        let whole = ping();
        for at in 0..whole.len() {
            let mut broken = [whole.clone(), whole.clone()].concat();
            broken[at] ^= 1;
            let told = decoded(&broken, 5);
            assert!(
                told.len() == 1 && told[0].as_ref().is_err_and(|it| it.starts_with("terminated: ")),
                "{at} {told:?}"
            );
        }
    }
}
