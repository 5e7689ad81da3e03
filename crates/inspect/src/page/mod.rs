//! The page of `pi-rpc inspect`: HTML, CSS and JavaScript modules as they are served, without a build step.

/// Each file of the page: its name, its media type and its text.
pub const FILES: &[(&str, &str, &str)] = &[
    ("index.html", HTML, include_str!("index.html")),
    ("shared.css", CSS, pi_rpc_html::SHARED_STYLE),
    ("page.css", CSS, include_str!("page.css")),
    ("parts.css", CSS, include_str!("parts.css")),
    ("announce.js", JAVASCRIPT, include_str!("announce.js")),
    ("api.js", JAVASCRIPT, include_str!("api.js")),
    ("chart_view.js", JAVASCRIPT, include_str!("chart_view.js")),
    ("commands_view.js", JAVASCRIPT, include_str!("commands_view.js")),
    ("composer_view.js", JAVASCRIPT, include_str!("composer_view.js")),
    ("conversation_view.js", JAVASCRIPT, include_str!("conversation_view.js")),
    ("dialogs_view.js", JAVASCRIPT, include_str!("dialogs_view.js")),
    ("diff.js", JAVASCRIPT, include_str!("diff.js")),
    ("elements.js", JAVASCRIPT, include_str!("elements.js")),
    ("finding_view.js", JAVASCRIPT, include_str!("finding_view.js")),
    ("findings_view.js", JAVASCRIPT, include_str!("findings_view.js")),
    ("frame_detail.js", JAVASCRIPT, include_str!("frame_detail.js")),
    ("frames_view.js", JAVASCRIPT, include_str!("frames_view.js")),
    ("header_view.js", JAVASCRIPT, include_str!("header_view.js")),
    ("image.js", JAVASCRIPT, include_str!("image.js")),
    ("inspection.js", JAVASCRIPT, include_str!("inspection.js")),
    ("item_view.js", JAVASCRIPT, include_str!("item_view.js")),
    ("json_text.js", JAVASCRIPT, include_str!("json_text.js")),
    ("json_view.js", JAVASCRIPT, include_str!("json_view.js")),
    ("live.js", JAVASCRIPT, include_str!("live.js")),
    ("markdown.js", JAVASCRIPT, include_str!("markdown.js")),
    ("page.js", JAVASCRIPT, include_str!("page.js")),
    ("raw_editor.js", JAVASCRIPT, include_str!("raw_editor.js")),
    ("record_store.js", JAVASCRIPT, include_str!("record_store.js")),
    ("report_view.js", JAVASCRIPT, include_str!("report_view.js")),
    ("schema.js", JAVASCRIPT, include_str!("schema.js")),
    ("schema_form.js", JAVASCRIPT, include_str!("schema_form.js")),
    ("scripts_view.js", JAVASCRIPT, include_str!("scripts_view.js")),
    ("scrubber.js", JAVASCRIPT, include_str!("scrubber.js")),
    ("states_view.js", JAVASCRIPT, include_str!("states_view.js")),
    ("timing_view.js", JAVASCRIPT, include_str!("timing_view.js")),
    ("views.js", JAVASCRIPT, include_str!("views.js")),
    ("virtual_list.js", JAVASCRIPT, include_str!("virtual_list.js")),
    ("visible_text.js", JAVASCRIPT, include_str!("visible_text.js")),
];

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, path::Path};

    #[test]
    fn every_file_of_page_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page");
        let names =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let wanted = |name: &String| [".html", ".css", ".js"].iter().any(|end| name.ends_with(end));
        let mut names: Vec<String> = names.filter(wanted).collect();
        // What all pages share is not of this folder.
        let own = FILES.iter().map(|(name, ..)| *name).filter(|name| *name != "shared.css");
        let mut served: Vec<&str> = own.collect();
        names.sort();
        served.sort_unstable();
        assert_eq!(names, served);
    }
}
