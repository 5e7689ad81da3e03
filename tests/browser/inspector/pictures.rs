//! The pictures of the book, taken again by `cargo bless browser`.

use super::{sample::sample, support::inspect_lines};
use base64::{Engine, prelude::BASE64_STANDARD};
use std::{env, fs, path::Path};

/// The sizes of the pictures: small, as each of them is part of the binary.
const DESK: (u64, u64) = (1070, 570);
const PHONE: (u64, u64) = (390, 700);

#[test]
fn pictures_of_book_are_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/screenshots");
    let pictures =
        [("inspect-light", DESK, "light"), ("inspect-dark", DESK, "dark"), ("inspect-phone", PHONE, "light")];
    if env::var_os("UPDATE").is_none() {
        for (name, ..) in pictures {
            let size = fs::metadata(folder.join(format!("{name}.png"))).unwrap().len();
            assert!(size < 150_000, "{name}.png has {size} bytes; cargo bless browser takes it again");
        }
        return;
    }
    let Some(mut page) = inspect_lines(&sample()) else { return };
    for (name, size, scheme) in pictures {
        page.open(size, scheme);
        page.click("#tab-frames");
        page.press(&["2", "Home"]);
        page.select_frame(17);
        let here = "[...document.querySelectorAll('#frame-detail button')].find(it => it.textContent === 'State at this frame').click()";
        page.value(here);
        page.until("document.querySelector('#state').textContent === 'streaming.message'");
        let part = match (size, scheme) {
            (PHONE, _) => "#tab-conversation",
            (_, "dark") => "#tab-chart",
            _ => "#tab-send",
        };
        page.click(part);
        page.until("document.querySelector('#frame-detail .json') && document.querySelector('.item.user img')?.complete");
        fs::write(
            folder.join(format!("{name}.png")),
            BASE64_STANDARD.decode(page.browser.picture()).unwrap(),
        )
        .unwrap();
    }
}
