//! Images in the tool `read`: passed on, scaled down, or left out.

use std::io::Cursor;

use crate::tools_support::{Place, assert_ok, text};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, ImageEncoder, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use pi_rpc_tools::{Block, ToolOutput};
use serde_json::json;

/// The largest image that is passed on, in bytes of base64.
const LARGEST: usize = 4_718_592;

fn png(image: impl Into<DynamicImage>) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

/// Nothing that can be compressed.
fn noise(width: u32, height: u32) -> RgbImage {
    let mut state = 1_u32;
    RgbImage::from_fn(width, height, |_, _| {
        Rgb([(); 3].map(|()| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        }))
    })
}

async fn read(place: &Place, bytes: &[u8]) -> ToolOutput {
    place.write("picture", bytes);
    place.call("read", json!({"path": "picture"})).await
}

/// The bytes of the image block, and its kind.
fn shown(output: &ToolOutput) -> (Vec<u8>, &str) {
    let [Block::Text(_), Block::Image { data, mime_type }] = output.content.as_slice() else {
        panic!("no image but {:?}", text(output))
    };
    assert!(data.len() <= LARGEST);
    (STANDARD.decode(data).unwrap(), mime_type)
}

fn decoded(output: &ToolOutput) -> RgbImage {
    image::load_from_memory(&shown(output).0).unwrap().to_rgb8()
}

#[tokio::test]
async fn fitting_image_is_passed_unchanged() {
    let place = Place::new();
    let bytes = png(RgbImage::new(2000, 10));
    let output = read(&place, &bytes).await;
    assert_ok(&output, "Read image file [image/png]");
    assert_eq!(shown(&output), (bytes, "image/png"));
    assert_eq!(output.details, None);
}

#[tokio::test]
async fn an_animation_that_fits_keeps_moving() {
    let place = Place::new();
    let mut bytes = Vec::new();
    GifEncoder::new(&mut bytes).encode_frames([1, 2].map(|_| Frame::new(RgbaImage::new(4, 4)))).unwrap();
    let output = read(&place, &bytes).await;
    assert_ok(&output, "Read image file [image/gif]");
    assert_eq!(shown(&output), (bytes, "image/gif"));
}

#[tokio::test]
async fn long_sides_are_scaled_to_2000_pixels() {
    let place = Place::new();
    for ((width, height), (shown_width, shown_height), factor) in
        [((3000, 30), (2000, 20), "1.50"), ((16, 2100), (15, 2000), "1.07"), ((2250, 1), (2000, 1), "1.13")]
    {
        let output = read(&place, &png(RgbImage::from_pixel(width, height, Rgb([200, 100, 50])))).await;
        let note = format!(
            "[Image: original {width}x{height}, displayed at {shown_width}x{shown_height}. Multiply coordinates by \
             {factor} to map to original image.]"
        );
        // Whichever of PNG and JPEG is smaller.
        assert_ok(&output, &format!("Read image file [{}]\n{note}", shown(&output).1));
        let image = decoded(&output);
        assert_eq!(image.dimensions(), (shown_width, shown_height));
        let colours = image.get_pixel(0, 0).0;
        assert!(colours.iter().zip([200_u8, 100, 50]).all(|(is, was)| is.abs_diff(was) < 4), "{colours:?}");
    }
}

#[tokio::test]
async fn many_bytes_are_made_fewer() {
    let place = Place::new();
    let output = read(&place, &png(noise(1500, 1200))).await;
    let note = "[Image: original 1500x1200, displayed at 1500x1200. Multiply coordinates by 1.00 to map to original \
                image.]";
    assert_ok(&output, &format!("Read image file [image/jpeg]\n{note}"));
    assert_eq!(shown(&output).1, "image/jpeg");
}

#[tokio::test]
async fn transparent_pictures_may_stay_so() {
    let place = Place::new();
    let output = read(&place, &png(RgbaImage::from_pixel(2001, 2, Rgba([9, 9, 9, 0])))).await;
    assert_eq!(shown(&output).1, "image/png");
    let image = image::load_from_memory(&shown(&output).0).unwrap().to_rgba8();
    assert_eq!(image.get_pixel(5, 1).0[3], 0);
}

#[tokio::test]
async fn photo_is_rotated_by_its_orientation() {
    let place = Place::new();
    let mut bytes = Vec::new();
    let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 90);
    // EXIF, little endian, with one entry: orientation 6, to be turned by 90°.
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    encoder.set_exif_metadata(exif.to_vec()).unwrap();
    encoder.encode_image(&RgbImage::from_pixel(2400, 24, Rgb([0, 0, 200]))).unwrap();
    let output = read(&place, &bytes).await;
    assert!(text(&output).contains("[Image: original 24x2400, displayed at 20x2000."), "{}", text(&output));
    assert_eq!(decoded(&output).dimensions(), (20, 2000));
}

#[tokio::test]
async fn without_scaling_only_impossible_images_are_dropped() {
    let place = Place { scales_images: false, ..Place::new() };
    let bytes = png(RgbImage::new(3000, 2));
    let output = read(&place, &bytes).await;
    assert_ok(&output, "Read image file [image/png]");
    assert_eq!(shown(&output).0, bytes);
    let output = read(&place, &png(RgbImage::new(8001, 1))).await;
    assert!(text(&output).starts_with("Read image file [image/png]\n[Image left out: 8001x1 pixels, "));
    assert_eq!(output.content.len(), 1);
}

#[tokio::test]
async fn undecodable_image_is_judged_by_its_header() {
    let place = Place::new();
    // A bomb: it claims more than four billion pixels.
    let mut bomb = png(RgbImage::new(2, 2));
    for (width, height, left_out) in [(65_535_u32, 65_535_u32, true), (7000, 7000, false), (9000, 3, true)] {
        bomb[16..20].copy_from_slice(&width.to_be_bytes());
        bomb[20..24].copy_from_slice(&height.to_be_bytes());
        let output = read(&place, &bomb).await;
        assert!(!output.is_error);
        if left_out {
            let wanted = format!("Read image file [image/png]\n[Image left out: {width}x{height} pixels, ");
            assert!(text(&output).starts_with(&wanted), "{}", text(&output));
            assert_eq!(output.content.len(), 1);
        } else {
            assert_ok(&output, "Read image file [image/png]");
            assert_eq!(shown(&output).0, bomb);
        }
    }
}

#[tokio::test]
async fn a_picture_without_pixels_is_left_out() {
    let place = Place::new();
    let mut gif = b"GIF89a\0\0\0\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\0\0\0\0\0\x02\x02\x44\x01\0;".to_vec();
    for size in [gif.len(), LARGEST] {
        gif.resize(size, 0);
        let output = read(&place, &gif).await;
        assert!(!output.is_error, "{}", text(&output));
        let wanted = "Read image file [image/gif]\n[Image left out: 0x0 pixels, ";
        assert!(text(&output).starts_with(wanted), "{}", text(&output));
        assert_eq!(output.content.len(), 1);
    }
}
