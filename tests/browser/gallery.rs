//! The four pages in pictures: at a desk and on a phone, light and dark, compared with the committed ones.
//!
//! Fonts differ between machines, so pictures are compared coarsely: as the mean colours of large tiles, of which a part may
//! differ. What must hold to the pixel is asserted by positions. `cargo bless browser` takes the pictures again.

use crate::{
    chromium_support::{Chromium, STICKS_OUT, chromium},
    inspector::{sample::sample as inspected, support::inspect_lines},
    page_support::sample::sample,
    report_support::report,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use image::{RgbImage, imageops};
use pi_rpc::{
    export::reference_page,
    oracle::{Direction, report::TimelineEntry},
    protocol::{Dialect, Tier},
};
use serde_json::{Value, json};
use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// A desk and a phone, in CSS pixels.
const SIZES: [(&str, (u64, u64)); 2] = [("desk", (1280, 800)), ("phone", (390, 844))];
const SCHEMES: [&str; 2] = ["light", "dark"];

/// The side of a tile, in pixels.
const TILE: u32 = 40;
/// How far the mean colour of a tile may be off in a channel of 256 steps.
const OFF: u8 = 28;
/// The part of the tiles that may be off, in percent.
const MOST_OFF: usize = 20;

/// The largest size of all pictures together, in bytes.
const MOST_BYTES: u64 = 1_500_000;

/// Two drawn frames.
const FRAMES: &str = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))";

/// The distance of an element's upper edge from that of the window.
fn top(chromium: &mut Chromium, selector: &str) -> f64 {
    let top = format!("document.querySelector({}).getBoundingClientRect().top", json!(selector));
    chromium.value(&top).as_f64().unwrap()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screenshots")
}

/// Takes or compares the picture of the window.
fn compare(chromium: &mut Chromium, name: &str) {
    chromium.value(FRAMES);
    let taken = BASE64_STANDARD.decode(chromium.small_picture()).unwrap();
    let file = folder().join(format!("gallery/{name}.webp"));
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        return fs::write(file, taken).unwrap();
    }
    let committed =
        fs::read(&file).unwrap_or_else(|error| panic!("{name}: {error}; run cargo bless browser"));
    let off = tiles_off(&tiles(&committed), &tiles(&taken));
    if off > MOST_OFF {
        let kept = env::temp_dir().join(format!("{name}.webp"));
        fs::write(&kept, &taken).unwrap();
        panic!(
            "{name}: {off} % of the tiles differ; {} shows it; cargo bless browser takes it again",
            kept.display()
        );
    }
}

/// The mean colours of a picture's tiles.
fn tiles(picture: &[u8]) -> RgbImage {
    let picture = image::load_from_memory(picture).unwrap().to_rgb8();
    let (width, height) = picture.dimensions();
    imageops::resize(&picture, width / TILE, height / TILE, imageops::FilterType::Triangle)
}

/// How many tiles differ, in percent; all of them, if the sizes do.
fn tiles_off(one: &RgbImage, other: &RgbImage) -> usize {
    if one.dimensions() != other.dimensions() {
        return 100;
    }
    let is_off = |(one, other): &(&image::Rgb<u8>, &image::Rgb<u8>)| {
        one.0.iter().zip(other.0).any(|(one, other)| one.abs_diff(other) > OFF)
    };
    let off = one.pixels().zip(other.pixels()).filter(is_off).count();
    off * 100 / one.pixels().count()
}

/// A report with what failed, and with updates of a message that follow one another.
fn judged() -> String {
    let mut report = report(Tier::Observed);
    let spoilt = &mut report.subjects[1];
    let words = ["The ", "total ", "is ", "rounded ", "before ", "the ", "sum."];
    let delta = |(at, word): (usize, &&str)| {
        let frame = json!({
            "type": "message_update",
            "assistantMessageEvent": { "type": "text_delta", "contentIndex": 0, "delta": word },
        });
        TimelineEntry {
            record: 2 + at as u64,
            t: 3.5 + at as f64,
            direction: Direction::Out,
            text: frame.to_string(),
            whole: None,
            state: "streaming.message".to_owned(),
            findings: Vec::new(),
        }
    };
    spoilt.timeline.extend(words.iter().enumerate().map(delta));
    report.to_page()
}

/// Shows a page in each size and scheme, and compares its pictures.
fn each_way(name: &str, html: &str, mut check: impl FnMut(&mut Chromium, &str)) {
    let Some(mut chromium) = chromium() else { return };
    for (size_name, size) in SIZES {
        for scheme in SCHEMES {
            chromium.open_at(html, size, scheme);
            chromium.value(FRAMES);
            assert_eq!(chromium.value(STICKS_OUT), json!([0, []]), "{name} {size_name}");
            check(&mut chromium, size_name);
            compare(&mut chromium, &format!("{name}-{size_name}-{scheme}"));
        }
    }
}

#[test]
fn session_begins_on_the_first_screen() {
    each_way("session", &sample().html(), |chromium, size| {
        let first = top(chromium, "article.user");
        assert!((0.0..560.0).contains(&first), "{size}: the first message begins at {first}");
    });
}

#[test]
fn reference_begins_with_what_it_is() {
    each_way("reference", &reference_page(Dialect::Pi1), |chromium, size| {
        let height = if size == "phone" { 844.0 } else { 800.0 };
        let places =
            ["main h1", ".lead", ".ways", "#protocol", "#dialects"].map(|place| top(chromium, place));
        assert!(places.is_sorted(), "{size}: {places:?}");
        assert!(places[2] < height && places[3] < height, "{size}: {places:?}");
        let first = chromium.value("document.querySelector('.talk .mark').textContent");
        assert_eq!(first, json!("pi-1"), "{size}");
    });
}

#[test]
fn report_begins_with_what_failed() {
    each_way("report", &judged(), |chromium, size| {
        let height = if size == "phone" { 844.0 } else { 800.0 };
        let places = ["#failed", ".failure", "#subjects", "#sums"].map(|place| top(chromium, place));
        assert!(places.is_sorted(), "{size}: {places:?}");
        assert!(places[1] < height, "{size}: {places:?}");
        let folded = chromium.value("document.querySelector('.folded summary').textContent");
        let expected = "7 × message_update: \"The total is rounded before the sum.\"";
        assert_eq!(folded, json!(expected), "{size}");
    });
}

#[test]
fn inspector_shows_a_recording() {
    let Some(mut page) = inspect_lines(&inspected()) else { return };
    for (size_name, size) in SIZES {
        for scheme in SCHEMES {
            page.open(size, scheme);
            if size_name == "phone" {
                page.click("#tab-conversation");
            }
            page.until("document.querySelector('.item.user img')?.complete");
            let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
            assert_eq!(page.value(wide), json!(0), "{size_name}");
            compare(&mut page.browser, &format!("inspect-{size_name}-{scheme}"));
        }
    }
}

#[test]
fn copy_on_an_example_copies_it() {
    let Some(mut chromium) = chromium() else { return };
    chromium.open(&reference_page(Dialect::Pi1), 1280, "light");
    chromium.value(
        "Object.defineProperty(navigator, 'clipboard', { value: {
        writeText: async (text) => { window.copied = text; },
    } }); 0",
    );
    chromium.value("new Promise(done => setTimeout(done))");
    let example = "#command-get_state figure pre";
    chromium.value(&format!("document.querySelector('{example} .copy').click()"));
    chromium.value(FRAMES);
    let copied: Value = serde_json::from_str(chromium.value("copied").as_str().unwrap()).unwrap();
    assert_eq!(copied["type"], "get_state");
    assert_eq!(chromium.value("document.querySelector('[role=status]').textContent"), json!("Copied"));
}

#[test]
fn other_scheme_is_another_picture() {
    // They are being written.
    if env::var_os("UPDATE").is_some() {
        return;
    }
    let picture = |name: &str| tiles(&fs::read(folder().join(format!("gallery/{name}.webp"))).unwrap());
    for page in ["session", "reference", "report", "inspect"] {
        let [light, dark] = SCHEMES.map(|scheme| picture(&format!("{page}-desk-{scheme}")));
        assert!(tiles_off(&light, &dark) > 90, "{page}");
    }
}

#[test]
fn pictures_of_the_book_are_small() {
    fn size(folder: &Path) -> u64 {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
        entries
            .map(
                |entry| {
                    if entry.path().is_dir() { size(&entry.path()) } else { entry.metadata().unwrap().len() }
                },
            )
            .sum()
    }
    let all = size(&folder());
    assert!(all < MOST_BYTES, "{all} bytes");
}
