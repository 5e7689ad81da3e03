//! Images of the `read` tool: returned as they are if small enough, else scaled down.
//!
//! An image that providers refuse would fail every later request of the conversation. So one that is too large and cannot
//! be scaled down is left out, with a note in the text.

use std::io::Cursor;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::error::{LimitError, LimitErrorKind};
use image::imageops::FilterType;
use image::{
    DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, ImageResult, Limits, Rgb, RgbImage,
};

use super::{
    run::{Block, ToolOutput},
    truncate::size_text,
};

/// Largest image, in bytes of base64, as in pi.
const LARGEST: usize = 4_718_592;

/// Longest side that providers accept, in pixels.
const LONGEST_SIDE: usize = 8000;

/// Longest side after scaling, in pixels, as in pi.
const LONGEST_SCALED: u32 = 2000;

/// Most memory of a decoded picture, in bytes: enough for 85 megapixels.
const MOST_MEMORY: u64 = 256 * 1024 * 1024;

/// JPEG qualities to try at each size, the first together with PNG.
const QUALITIES: [u8; 4] = [80, 70, 55, 40];

/// Sizes to try, in hundredths of the largest.
const SCALES: [u64; 5] = [100, 75, 50, 35, 25];

/// Allows one scaling at a time, as it takes much memory.
static SCALING: Mutex<()> = Mutex::new(());

/// The result of `read` for an image.
pub(super) fn image_output(bytes: &[u8], mime_type: &str, scales: bool) -> ToolOutput {
    let size = encoded_size(bytes);
    let (width, height) = imagesize::blob_size(bytes).map_or((0, 0), |size| (size.width, size.height));
    let longest = width.max(height);
    // An empty image, or a damaged header.
    let is_empty = width == 0 || height == 0;
    if scales
        && !is_empty
        && (size > LARGEST || longest > LONGEST_SCALED as usize)
        && let Some(scaled) = scale_down(bytes)
    {
        return with_image(
            format!("{}\n{}", heading(scaled.mime_type), scaled.note()),
            &scaled.bytes,
            scaled.mime_type,
        );
    }
    if is_empty || size > LARGEST || longest > LONGEST_SIDE {
        let (size, most) = (size_text(size as u64), size_text(LARGEST as u64));
        return ToolOutput::text(format!(
            "{}\n[Image left out: {width}x{height} pixels, {size} in base64. At most {LONGEST_SIDE} pixels a side and \
             {most} can be shown; make a smaller copy and read that.]",
            heading(mime_type)
        ));
    }
    with_image(heading(mime_type), bytes, mime_type)
}

/// An image file as part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageAttachment {
    /// Notes for the model: how it was scaled, or why it is left out.
    pub notes: String,
    /// Base64 and MIME type of the picture; `None`: it is left out.
    pub picture: Option<(String, String)>,
}

/// What becomes of an image before it is sent to a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FittedImage {
    /// It fits.
    Unchanged,
    /// It was scaled down, or named as what it is.
    Replaced {
        /// The picture, in base64.
        data: String,
        /// Its MIME type.
        mime_type: String,
        /// How it was scaled; empty: it was not.
        note: String,
    },
    /// Providers would refuse it, for this reason.
    LeftOut(String),
}

/// Makes an image of a conversation fit for providers as `read` does. Kinds that only some providers take are theirs to judge.
pub fn fit_image(data: &str, mime_type: &str, scales: bool) -> FittedImage {
    let left_out = |why: &str| FittedImage::LeftOut(format!("[Image left out: {why}]"));
    let Ok(bytes) = STANDARD.decode(data) else { return left_out("its data is no base64") };
    let Some(kind) = super::read::image_kind(&bytes) else {
        return match KINDS.contains(&mime_type) {
            true => left_out(&format!("its data is no {mime_type}")),
            false => FittedImage::Unchanged,
        };
    };
    let ImageAttachment { notes, picture } = attachment(&bytes, kind, scales);
    match picture {
        None => FittedImage::LeftOut(notes),
        Some(_) if is_broken(&bytes) => left_out(&format!("its data is no whole {kind}")),
        Some((fitted, kind)) if fitted == data && kind == mime_type => FittedImage::Unchanged,
        Some((data, mime_type)) => FittedImage::Replaced { data, mime_type, note: notes },
    }
}

/// Kinds of images that every provider takes.
const KINDS: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Whether an image cannot be decoded, for another reason than its size.
fn is_broken(bytes: &[u8]) -> bool {
    let _turn = SCALING.lock().unwrap_or_else(PoisonError::into_inner);
    matches!(decode(bytes), Err(ImageError::Decoding(_) | ImageError::IoError(_)))
}

/// The image in `bytes`, scaled down if it is too large; `None`: they are no image.
pub fn image_attachment(bytes: &[u8]) -> Option<ImageAttachment> {
    Some(attachment(bytes, super::read::image_kind(bytes)?, true))
}

fn attachment(bytes: &[u8], kind: &str, scales: bool) -> ImageAttachment {
    let output = image_output(bytes, kind, scales);
    let mut attachment = ImageAttachment { notes: String::new(), picture: None };
    for block in output.content {
        match block {
            Block::Text(text) => {
                attachment.notes = text.split_once('\n').map_or("", |(_, notes)| notes).to_owned();
            }
            Block::Image { data, mime_type } => attachment.picture = Some((data, mime_type)),
        }
    }
    attachment
}

fn heading(mime_type: &str) -> String {
    format!("Read image file [{mime_type}]")
}

fn with_image(text: String, bytes: &[u8], mime_type: &str) -> ToolOutput {
    let mut output = ToolOutput::text(text);
    output.content.push(Block::Image { data: STANDARD.encode(bytes), mime_type: mime_type.to_owned() });
    output
}

struct Scaled {
    bytes: Vec<u8>,
    mime_type: &'static str,
    original: (u32, u32),
    shown: (u32, u32),
}

impl Scaled {
    /// pi's note on how the scaled image relates to the file.
    fn note(&self) -> String {
        let ((width, height), (shown_width, shown_height)) = (self.original, self.shown);
        // Halves round up, as JavaScript's `toFixed` does.
        let (wide, narrow) = (u64::from(width), u64::from(shown_width));
        let hundredths = (wide * 200 + narrow) / (narrow * 2);
        format!(
            "[Image: original {width}x{height}, displayed at {shown_width}x{shown_height}. Multiply coordinates by \
             {}.{:02} to map to original image.]",
            hundredths / 100,
            hundredths % 100
        )
    }
}

/// Scales an image to a size that fits; `None` if it cannot be decoded or no size fits.
fn scale_down(bytes: &[u8]) -> Option<Scaled> {
    // The lock guards no data, so poison is harmless.
    let _turn = SCALING.lock().unwrap_or_else(PoisonError::into_inner);
    let picture =
        decode(bytes).inspect_err(|error| tracing::debug!("an image cannot be decoded: {error}")).ok()?;
    let original = (picture.width(), picture.height());
    let longest = original.0.max(original.1);
    let most = longest.min(LONGEST_SCALED);
    SCALES.iter().find_map(|scale| {
        let side = |length: u32| {
            let scaled = u64::from(length) * u64::from(most) * scale;
            let whole = u64::from(longest) * 100;
            u32::try_from((scaled + whole / 2) / whole).unwrap_or(most).max(1)
        };
        let shown = (side(original.0), side(original.1));
        let smaller = match shown == original {
            true => picture.clone(),
            false => picture.resize_exact(shown.0, shown.1, FilterType::Lanczos3),
        };
        let (bytes, mime_type) = encode(&smaller)?;
        Some(Scaled { bytes, mime_type, original, shown })
    })
}

/// Decodes an image and applies its orientation, which a new encoding would lose.
fn decode(bytes: &[u8]) -> ImageResult<DynamicImage> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format()?;
    let mut limits = Limits::no_limits();
    limits.max_alloc = Some(MOST_MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    // Some decoders do not look at the limit.
    if decoder.total_bytes() > MOST_MEMORY {
        return Err(ImageError::Limits(LimitError::from_kind(LimitErrorKind::InsufficientMemory)));
    }
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

/// Encodes a picture so that it fits: the smaller one of PNG and a good JPEG, else a worse JPEG.
fn encode(picture: &DynamicImage) -> Option<(Vec<u8>, &'static str)> {
    let mut png = Cursor::new(Vec::new());
    let png = picture.write_to(&mut png, ImageFormat::Png).is_ok().then(|| (png.into_inner(), "image/png"));
    let opaque = on_white(picture);
    let mut jpegs = QUALITIES.iter().filter_map(|quality| {
        let mut bytes = Vec::new();
        JpegEncoder::new_with_quality(&mut bytes, *quality).encode_image(&opaque).ok()?;
        Some((bytes, "image/jpeg"))
    });
    let good = jpegs.next();
    let best = png.into_iter().chain(good).min_by_key(|(bytes, _)| bytes.len());
    best.into_iter().chain(jpegs).find(|(bytes, _)| encoded_size(bytes) <= LARGEST)
}

/// The length of the bytes in base64.
fn encoded_size(bytes: &[u8]) -> usize {
    bytes.len().div_ceil(3) * 4
}

/// Puts the picture on a white ground, as JPEG has no transparency.
fn on_white(picture: &DynamicImage) -> RgbImage {
    if !picture.color().has_alpha() {
        return picture.to_rgb8();
    }
    let picture = picture.to_rgba8();
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [red, green, blue, alpha] = picture.get_pixel(x, y).0.map(u16::from);
        let mixed = |colour: u16| ((colour * alpha + 255 * (255 - alpha)) / 255) as u8;
        Rgb([mixed(red), mixed(green), mixed(blue)])
    })
}
