#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| pi_rpc_fuzz::frames::check(data));
