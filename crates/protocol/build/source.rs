//! Writes tokens as source text.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

/// The tokens as text, with a line per statement and per member of a block, so that errors of rustc stay readable.
pub fn source(tokens: TokenStream) -> String {
    let mut text = String::new();
    write(tokens, false, &mut text);
    text
}

fn write(tokens: TokenStream, is_block: bool, text: &mut String) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ") "),
                    Delimiter::Bracket => ("[", "] "),
                    Delimiter::Brace => ("{\n", "}\n"),
                    Delimiter::None => ("", ""),
                };
                text.push_str(open);
                write(group.stream(), group.delimiter() == Delimiter::Brace, text);
                text.push_str(close);
            }
            TokenTree::Punct(punct) => {
                text.push(punct.as_char());
                match (punct.as_char(), punct.spacing()) {
                    (';', _) => text.push('\n'),
                    (',', _) if is_block => text.push('\n'),
                    (_, Spacing::Alone) => text.push(' '),
                    (_, Spacing::Joint) => {}
                }
            }
            TokenTree::Ident(_) | TokenTree::Literal(_) => {
                text.push_str(&token.to_string());
                text.push(' ');
            }
        }
    }
}
