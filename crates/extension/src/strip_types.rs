//! Turns TypeScript into JavaScript. Node has a function for it since 22.13 (and runs such files without a flag since 22.18), but
//! since 26 it refuses enums, namespaces with values and parameter properties.
//!
//! Types become blanks where that is possible, so that lines and columns stay. Enums, namespaces with values and
//! parameter properties are written anew; then a source map inside the result leads back.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::Serialize;
use std::sync::{Arc, Mutex, PoisonError};
use swc_common::{
    GLOBALS, Globals, SourceMap,
    errors::{DiagnosticBuilder, Emitter, Handler},
    sync::Lrc,
};
use swc_ts_fast_strip::{ErrorCode, Mode, Options, TsError, operate};

/// JavaScript made of TypeScript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stripped {
    /// The program.
    pub code: String,
    /// Whether lines have moved and a source map stands at the end of the code.
    pub mapped: bool,
}

/// The first error of a source that is no TypeScript.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// The parser's message.
    pub message: String,
    /// Where, from 1; `None`: not known.
    pub line: Option<usize>,
}

/// Removes the types of `source`; `file` is the name that a source map gives it.
///
/// # Errors
///
/// The first syntax error.
pub fn strip_types(source: &str, file: &str) -> Result<Stripped, SyntaxError> {
    match convert(source, file, Mode::StripOnly) {
        Ok((code, _)) => Ok(Stripped { code, mapped: false }),
        Err((ErrorCode::UnsupportedSyntax, _)) => {
            let (code, map) = convert(source, file, Mode::Transform).map_err(|(_, error)| error)?;
            let map = map.map(|map| STANDARD.encode(map));
            let mapped = map.is_some();
            let comment = map.map(|map| format!("\n//# sourceMappingURL=data:application/json;base64,{map}"));
            Ok(Stripped { code: code + &comment.unwrap_or_default(), mapped })
        }
        Err((_, error)) => Err(error),
    }
}

fn convert(
    source: &str,
    file: &str,
    mode: Mode,
) -> Result<(String, Option<String>), (ErrorCode, SyntaxError)> {
    let sources: Lrc<SourceMap> = Lrc::default();
    let first = First::default();
    let handler = Handler::with_emitter(true, false, Box::new(Reporter(Lrc::clone(&sources), first.clone())));
    let options = Options {
        filename: Some(file.to_owned()),
        source_map: matches!(mode, Mode::Transform),
        mode,
        ..Options::default()
    };
    let made = GLOBALS.set(&Globals::new(), || operate(&sources, &handler, source.to_owned(), options));
    made.map(|made| (made.code, made.map)).map_err(|TsError { message, code }| {
        let reported = first.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        (code, reported.unwrap_or(SyntaxError { message, line: None }))
    })
}

/// The first error that was reported.
#[derive(Clone, Default)]
struct First(Arc<Mutex<Option<SyntaxError>>>);

/// Keeps the first error and drops the others.
struct Reporter(Lrc<SourceMap>, First);

impl Emitter for Reporter {
    fn emit(&mut self, diagnostic: &mut DiagnosticBuilder<'_>) {
        let Self(sources, First(first)) = self;
        let place = diagnostic.span.primary_span();
        let line = place.map(|place| sources.lookup_char_pos(place.lo()).line);
        let message = diagnostic.message();
        first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(SyntaxError { message, line });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_become_blanks() {
        let stripped = strip_types("const a: number = 1 as any;\nexport type B = 2;\n", "a.ts").unwrap();
        let code = "const a         = 1       ;\n                  \n".to_owned();
        assert_eq!(stripped, Stripped { code, mapped: false });
    }

    #[test]
    fn enum_is_written_with_source_map() {
        let Stripped { code, mapped } = strip_types("export enum E { A = 4 }", "a.ts").unwrap();
        assert!(mapped && code.contains("\n//# sourceMappingURL=data:application/json;base64,"), "{code}");
        assert!(!code.contains("enum"), "{code}");
    }

    #[test]
    fn syntax_error_names_its_line() {
        let error = strip_types("const a = 1;\nconst = 2;\n", "a.ts").unwrap_err();
        assert_eq!(error.line, Some(2), "{error:?}");
    }
}
