//! Unpacks bodies that a server or a proxy has compressed, although no request asks for it.
//!
//! `content-encoding` says how, but what has no packed form is taken as it is: some servers name an encoding and use none.
//! Memory is bounded: an encoder that makes too much of one piece is an error, and the limits of bodies and events hold
//! for what was unpacked.

use brotli_decompressor::DecompressorWriter;
use bytes::{Buf as _, Bytes};
use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use futures_util::{Stream, StreamExt as _, stream};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::{
    io::{self, Write},
    mem,
    pin::Pin,
};

/// Most bytes that one piece of a body may become.
const UNPACKED_BYTES: usize = 16 * 1024 * 1024;
/// Most memory that looking back takes, as the standard for HTTP says (RFC 9659).
const WINDOW_BYTES: u64 = 8 * 1024 * 1024;
/// Bytes at the start by which an encoding is known.
const SIGN_BYTES: usize = 4;
/// How bodies begin that are not packed, though they should be by a name whose form has no sign.
const TEXTS: [&[u8]; 8] = [b"data", b"event", b"id:", b"retry", b": ", b":\n", b"{\"", b"<"];
/// Encodings one inside the other that are undone.
const MOST_LAYERS: usize = 4;
/// Bytes that a decoder of Brotli writes at once.
const BROTLI_BUFFER_BYTES: usize = 16 * 1024;

/// Unpacks `pieces` of a body by its `content-encoding` and its first bytes. Yields a text for the answer as the last item
/// if that cannot be.
pub fn decoded(
    pieces: impl Stream<Item = Result<Bytes, String>> + Send,
    encodings: String,
) -> impl Stream<Item = Result<Bytes, String>> + Send {
    let names = encodings.split(',').map(|name| name.trim().to_ascii_lowercase());
    let names = names.filter(|name| !name.is_empty() && name != "identity");
    let mut layers: Vec<Decoder> = names.take(MOST_LAYERS).map(Decoder::named).collect();
    // What was applied last comes first. A packed form without a name is known by its sign.
    layers.reverse();
    if layers.is_empty() {
        layers.push(Decoder::named(String::new()));
    }
    let body = Body { pieces: Some(Box::pin(pieces)), layers };
    stream::unfold(body, |mut body| async move {
        let piece = body.next().await?;
        if piece.is_err() {
            body.pieces = None;
        }
        Some((piece, body))
    })
}

/// A body on its way.
struct Body<P> {
    /// The source of bytes; `None`: it has ended.
    pieces: Option<Pin<Box<P>>>,
    /// The decoders, in the order in which they are used.
    layers: Vec<Decoder>,
}

impl<P: Stream<Item = Result<Bytes, String>>> Body<P> {
    async fn next(&mut self) -> Option<Result<Bytes, String>> {
        loop {
            let (piece, is_end) = match self.pieces.as_mut()?.next().await {
                Some(Ok(piece)) => (piece, false),
                Some(Err(reason)) => return Some(Err(reason)),
                None => {
                    self.pieces = None;
                    (Bytes::new(), true)
                }
            };
            let unpacked = self.layers.iter_mut().try_fold(piece, |piece, layer| layer.unpack(piece, is_end));
            match unpacked {
                Ok(unpacked) if unpacked.is_empty() => {}
                Ok(unpacked) => return Some(Ok(unpacked)),
                Err(reason) => {
                    return Some(Err(format!("terminated: the answer could not be unpacked: {reason}")));
                }
            }
        }
    }
}

/// One encoding of a body.
enum Decoder {
    /// Known by name alone, until enough of its `start` is there.
    Named {
        name: String,
        start: Vec<u8>,
    },
    /// Not packed after all.
    Plain,
    Gzip(MultiGzDecoder<Unpacked>),
    Zlib(ZlibDecoder<Unpacked>),
    Deflate(DeflateDecoder<Unpacked>),
    Brotli(Box<DecompressorWriter<Unpacked>>),
    Zstd(Box<Zstd>),
}

impl Decoder {
    fn named(name: String) -> Self {
        Self::Named { name, start: Vec::new() }
    }

    /// The decoder for a body that begins with `start`; `name` is the encoding's, or empty.
    fn of(name: &str, start: &[u8]) -> Option<Self> {
        let is_text = || TEXTS.into_iter().any(|text| start.starts_with(text));
        match (name, start) {
            (_, [0x1f, 0x8b, ..]) => Some(Self::Gzip(MultiGzDecoder::new(Unpacked::default()))),
            (_, [0x28, 0xb5, 0x2f, 0xfd, ..]) => Some(Self::Zstd(Box::default())),
            // A header of zlib: its kind, and a sum.
            ("deflate", [kind, flags, ..])
                if kind & 15 == 8 && (u16::from(*kind) * 256 + u16::from(*flags)).is_multiple_of(31) =>
            {
                Some(Self::Zlib(ZlibDecoder::new(Unpacked::default())))
            }
            ("deflate", _) if !is_text() => Some(Self::Deflate(DeflateDecoder::new(Unpacked::default()))),
            ("br", _) if !is_text() => Some(Self::Brotli(Box::new(DecompressorWriter::new(
                Unpacked::default(),
                BROTLI_BUFFER_BYTES,
            )))),
            _ => None,
        }
    }

    /// Unpacks a piece, which may be empty; `is_end`: no other follows.
    fn unpack(&mut self, piece: Bytes, is_end: bool) -> io::Result<Bytes> {
        if let Self::Named { name, start } = self {
            start.extend_from_slice(&piece);
            if start.len() < SIGN_BYTES && !is_end {
                return Ok(Bytes::new());
            }
            let piece = Bytes::from(mem::take(start));
            *self = Self::of(name, &piece).unwrap_or(Self::Plain);
            return self.unpack(piece, is_end);
        }
        if let (Self::Zstd(decoder), true) = (&mut *self, is_end) {
            return decoder.finish(&piece);
        }
        if piece.is_empty() {
            return Ok(piece);
        }
        Ok(match self {
            Self::Named { .. } | Self::Plain => piece,
            Self::Gzip(decoder) => {
                write(decoder, &piece)?;
                decoder.get_mut().take()
            }
            Self::Zlib(decoder) => {
                write(decoder, &piece)?;
                decoder.get_mut().take()
            }
            Self::Deflate(decoder) => {
                write(decoder, &piece)?;
                decoder.get_mut().take()
            }
            Self::Brotli(decoder) => {
                write(decoder.as_mut(), &piece)?;
                decoder.get_mut().take()
            }
            Self::Zstd(decoder) => decoder.unpack(&piece)?,
        })
    }
}

/// Writes `piece` and everything that becomes of it. What stands behind the end of the packed form is ignored.
fn write(decoder: &mut impl Write, mut piece: &[u8]) -> io::Result<()> {
    while !piece.is_empty() {
        match decoder.write(piece)? {
            0 => break,
            taken => piece = &piece[taken..],
        }
    }
    decoder.flush()
}

/// What has become of one piece.
#[derive(Default)]
struct Unpacked(Vec<u8>);

impl Unpacked {
    fn take(&mut self) -> Bytes {
        mem::take(&mut self.0).into()
    }
}

impl Write for Unpacked {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > UNPACKED_BYTES {
            return Err(io::Error::other(format!(
                "one piece of it becomes more than {UNPACKED_BYTES} bytes"
            )));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A last block without content, and room for a checksum, which is not compared.
const EMPTY_LAST_BLOCK: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// Unpacks frames of zstd block by block. A block becomes 128 KiB at most; what may be looked back at comes with the end
/// of the frame.
#[derive(Default)]
struct Zstd {
    decoder: FrameDecoder,
    /// Whether a frame has begun.
    is_inside: bool,
    /// Whether the frame ends with a checksum.
    has_checksum: bool,
    /// Bytes of an incomplete header or block.
    rest: Vec<u8>,
}

impl Zstd {
    fn unpack(&mut self, piece: &[u8]) -> io::Result<Bytes> {
        self.rest.extend_from_slice(piece);
        let mut source = &self.rest[..];
        let mut unpacked = Unpacked::default();
        loop {
            let size = if self.is_inside { self.block_size(source) } else { header_size(source) };
            let Some(mut part) = size.and_then(|size| source.get(..size)) else { break };
            source.advance(part.len());
            if !self.is_inside {
                self.has_checksum = part.get(4).is_some_and(|descriptor| descriptor >> 2 & 1 == 1);
                self.decoder.set_max_window_size(WINDOW_BYTES);
                self.decoder.reset(&mut part).map_err(io::Error::other)?;
                self.is_inside = true;
                continue;
            }
            let is_over = self.decoder.decode_blocks(&mut part, BlockDecodingStrategy::UptoBlocks(1));
            self.is_inside = !is_over.map_err(io::Error::other)?;
            self.decoder.collect_to_writer(&mut unpacked)?;
        }
        self.rest = source.to_vec();
        Ok(unpacked.take())
    }

    /// Unpacks the last piece. What a frame without an end has brought comes out with it.
    fn finish(&mut self, piece: &[u8]) -> io::Result<Bytes> {
        let unpacked = self.unpack(piece)?;
        if !self.is_inside {
            return Ok(unpacked);
        }
        self.rest.clear();
        let held = self.unpack(&EMPTY_LAST_BLOCK[..if self.has_checksum { 7 } else { 3 }])?;
        Ok([unpacked, held].concat().into())
    }

    /// The size of the block that `source` begins with, and of the checksum behind the last one; `None`: its header is
    /// not there yet.
    fn block_size(&self, source: &[u8]) -> Option<usize> {
        let [first, second, third, ..] = source else { return None };
        let header = u32::from_le_bytes([*first, *second, *third, 0]);
        // One byte stands for a block of equal ones.
        let content = if header >> 1 & 3 == 1 { 1 } else { header >> 3 };
        let checksum = if header & 1 == 1 && self.has_checksum { 4 } else { 0 };
        Some(3 + content as usize + checksum)
    }
}

/// The size of the header of a frame; `None`: not enough of it is there to tell.
fn header_size(source: &[u8]) -> Option<usize> {
    let descriptor = *source.get(4)?;
    let is_single = descriptor >> 5 & 1 == 1;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content = match descriptor >> 6 {
        0 => usize::from(is_single),
        size => 1 << size,
    };
    Some(5 + usize::from(!is_single) + dictionary + content)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use base64::{Engine as _, prelude::BASE64_STANDARD};
    use flate2::{
        Compression,
        write::{DeflateEncoder, GzEncoder, ZlibEncoder},
    };
    use futures_util::FutureExt as _;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// What [`BROTLI`] becomes.
    const TEXT: &str = concat!(
        "data: {\"text\":\"Grüße\"}\n\n",
        "data: {\"text\":\"Grüße\"}\n\n",
        "data: {\"text\":\"Grüße\"}\n\n"
    );
    const BROTLI: &str = "G00AgJwHdsOH02O1QKijPWEzVIsMlx1tELlPXqlAtlc6fSmIKE5VJYOwuMbsujQ=";
    /// 64 MiB of one letter.
    const BOMB: &str = "y///P/glwuKxQCD3/o///3/wSwDEYRGA7v0f////4JcAiMMCAN37P/7//8EvARCHBQC693/8//+DXwIgDgsAdO//+P//B78EQBwWAOje//H//w9+CYA4LADQvf/L//8//BIAcVgAoHv/Bw==";

    fn base64(text: &str) -> Vec<u8> {
        BASE64_STANDARD.decode(text).expect("base64")
    }

    /// A text in every packed form that can be made here, with the encoding's name.
    pub fn packed(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
        let level = Compression::default();
        let mut gzip = GzEncoder::new(Vec::new(), level);
        let mut zlib = ZlibEncoder::new(Vec::new(), level);
        let mut raw = DeflateEncoder::new(Vec::new(), level);
        for encoder in [&mut gzip as &mut dyn Write, &mut zlib, &mut raw] {
            encoder.write_all(text).expect("a buffer");
        }
        vec![
            ("gzip", gzip.finish().expect("a buffer")),
            ("deflate", zlib.finish().expect("a buffer")),
            ("deflate", raw.finish().expect("a buffer")),
            ("zstd", compress_to_vec(text, CompressionLevel::Fastest)),
        ]
    }

    fn unpacked(pieces: &[&[u8]], encodings: &str) -> Result<Vec<u8>, String> {
        let pieces: Vec<_> = pieces.iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let all = decoded(stream::iter(pieces), encodings.to_owned()).collect::<Vec<_>>().now_or_never();
        let all: Result<Vec<Bytes>, String> = all.expect("nothing to wait for").into_iter().collect();
        all.map(|all| all.concat())
    }

    #[test]
    fn packed_body_is_read_at_every_cut() {
        let mut forms = packed(TEXT.as_bytes());
        forms.push(("br", base64(BROTLI)));
        forms.push(("gzip", TEXT.into()));
        forms.push(("deflate", TEXT.into()));
        forms.push(("br", TEXT.into()));
        forms.push(("identity", TEXT.into()));
        forms.push(("rot13", TEXT.into()));
        for (name, bytes) in forms {
            for cut in 0..=bytes.len() {
                let (before, after) = bytes.split_at(cut);
                assert_eq!(unpacked(&[before, after], name), Ok(TEXT.into()), "{name} {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(unpacked(&single, name), Ok(TEXT.into()), "{name}");
        }
    }

    #[test]
    fn encoding_is_known_without_name() {
        for (name, bytes) in packed(TEXT.as_bytes()).into_iter().filter(|(name, _)| *name != "deflate") {
            assert_eq!(unpacked(&[&bytes], ""), Ok(TEXT.into()), "{name}");
        }
    }

    #[test]
    fn encodings_are_undone_in_reverse() {
        let twice = |outer: usize| packed(&packed(TEXT.as_bytes())[0].1).swap_remove(outer);
        for outer in 0..4 {
            let (name, bytes) = twice(outer);
            let pieces: Vec<&[u8]> = bytes.chunks(3).collect();
            assert_eq!(unpacked(&pieces, &format!("gzip, {name}")), Ok(TEXT.into()), "{name}");
        }
    }

    #[test]
    fn text_is_not_held_back() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(TEXT.as_bytes()).and_then(|()| encoder.flush()).expect("a buffer");
        assert_eq!(unpacked(&[encoder.get_ref()], "gzip"), Ok(TEXT.into()));
    }

    #[test]
    fn zstd_without_end_keeps_its_text() {
        // Two blocks: the first is whole, the second is not.
        let mut text = vec![b'a'; 128 * 1024];
        text.extend(TEXT.as_bytes());
        let bytes = compress_to_vec(&text[..], CompressionLevel::Fastest);
        for cut in 1..8 {
            let read = unpacked(&[&bytes[..bytes.len() - cut]], "zstd").expect("a text");
            assert!(read.starts_with(&text[..128 * 1024]) && text.starts_with(&read), "{cut}");
        }
    }

    #[test]
    fn packed_bomb_is_an_error() {
        let letters = vec![b'a'; 64 * 1024 * 1024];
        let mut bombs = packed(&letters);
        bombs.push(("br", base64(BOMB)));
        for (name, bytes) in bombs {
            let error = unpacked(&[&bytes], name).expect_err(name);
            assert_eq!(
                error,
                "terminated: the answer could not be unpacked: one piece of it becomes more than 16777216 bytes",
                "{name}"
            );
        }
    }

    #[test]
    fn broken_packed_body_is_an_error() {
        // Behind the headers.
        for ((name, mut bytes), behind) in packed(TEXT.as_bytes()).into_iter().zip([10, 2, 0, 9]) {
            bytes[behind..].fill(0xff);
            let read = unpacked(&[&bytes], name);
            assert!(
                read.is_err_and(|error| error.starts_with("terminated: the answer could not be")),
                "{name}"
            );
        }
    }
}
