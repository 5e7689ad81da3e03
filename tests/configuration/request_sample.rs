//! One model of each provider and API in all conversations of the matrix: what pi sends was recorded, what we send is compared.

use crate::matrix_support::{Line, Matrix, OurRequests, cases, folder};
use std::fs;

#[test]
fn sampled_requests_equal_pi() {
    let asked = OurRequests::new(cases());
    let mut matrix = Matrix::default();
    let recorded = fs::read_to_string(folder().join("sample.jsonl")).expect("the sample");
    for line in recorded.lines() {
        let line: Line = serde_json::from_str(line).expect("a request");
        matrix.add(&asked, &line);
    }
    matrix.check();
}
