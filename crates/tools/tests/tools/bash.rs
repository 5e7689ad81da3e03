//! The tool `bash`: what the model reads, and that nothing is left behind.

use std::time::Duration;

use crate::tools_support::{
    FullOutput, Place, alive_in_group, assert_error, assert_ok, eventually, release, text, within,
};
use pi_rpc_tools::{StopNotice, ToolOutput};
use serde_json::{Value, json};

#[tokio::test]
async fn results_are_put_as_pi_puts_them() {
    let place = Place::new();
    for (command, shown) in [
        ("echo hi; echo err >&2", "hi\nerr\n"),
        ("printf 'no newline'", "no newline"),
        ("true", "(no output)"),
        ("printf '\\033[31mred\\033[0m\\r\\n'", "\u{1b}[31mred\u{1b}[0m\r\n"),
        ("printf 'caf\\351\\n\\303'", "caf\u{FFFD}\n\u{FFFD}"),
        ("echo before; kill -9 $$", "before\n"),
        ("cat", "(no output)"),
    ] {
        let output = place.call("bash", json!({"command": command})).await;
        assert_ok(&output, shown);
        assert_eq!(output.details, None, "{command}");
    }
    for (command, shown) in [
        ("echo oh; exit 3", "oh\n\n\nCommand exited with code 3"),
        ("exit 1", "(no output)\n\nCommand exited with code 1"),
    ] {
        assert_error(&place.call("bash", json!({"command": command})).await, shown);
    }
    let output = place.call("bash", json!({"command": "nosuchcommand_xyz"})).await;
    assert_error(
        &output,
        "/bin/bash: line 1: nosuchcommand_xyz: command not found\n\n\nCommand exited with code 127",
    );
}

#[tokio::test]
async fn stdout_and_stderr_keep_their_order() {
    let place = Place::new();
    let command = "for i in $(seq 300); do echo o$i; echo e$i >&2; done";
    let wanted: String = (1..=300).map(|i| format!("o{i}\ne{i}\n")).collect();
    assert_ok(&place.call("bash", json!({"command": command})).await, &wanted);
}

#[tokio::test]
async fn long_output_is_cut_by_lines() {
    let place = Place::new();
    let output = place.call("bash", json!({"command": "seq 5000"})).await;
    let full = FullOutput::named_in(text(&output));
    let numbers: Vec<String> = (3002..=5000).map(|n| n.to_string()).collect();
    let notice = format!("[Showing lines 3002-5001 of 5001. Full output: {}]", full.path());
    assert_ok(&output, &format!("{}\n\n\n{notice}", numbers.join("\n")));
    assert_eq!(String::from_utf8(full.bytes()).unwrap().lines().count(), 5000);
    let details = output.details.unwrap();
    assert_eq!(details.as_object().unwrap().keys().collect::<Vec<_>>(), ["truncation", "fullOutputPath"]);
    assert_eq!(details["fullOutputPath"], full.path());
    assert_eq!(details["truncation"]["totalLines"], 5001);
    let output = place.call("bash", json!({"command": "seq 5000; exit 2"})).await;
    let full = FullOutput::named_in(text(&output));
    let end = format!("Full output: {}]\n\nCommand exited with code 2", full.path());
    assert!(output.is_error && text(&output).ends_with(&end));
}

#[tokio::test]
async fn wide_output_is_cut_by_bytes() {
    let place = Place::new();
    let command = "for i in $(seq 100); do printf '%01023d\\n' $i; done";
    let output = place.call("bash", json!({"command": command})).await;
    let full = FullOutput::named_in(text(&output));
    let notice = format!("\n\n[Showing lines 51-101 of 101 (50.0KB limit). Full output: {}]", full.path());
    assert!(text(&output).ends_with(&notice), "{}", &text(&output)[51000..]);
    assert_eq!(full.bytes().len(), 102_400);
}

#[tokio::test]
async fn tail_of_one_long_line_is_kept() {
    let place = Place::new();
    for (command, line, kept) in [
        ("echo first; head -c 60000 /dev/zero | tr '\\0' x", 2, 51200),
        ("head -c 60000 /dev/zero | tr '\\0' x; echo", 1, 51200),
    ] {
        let output = place.call("bash", json!({"command": command})).await;
        let full = FullOutput::named_in(text(&output));
        let notice = format!(
            "\n\n[Showing last 50.0KB of line {line} (line is 58.6KB). Full output: {}]",
            full.path()
        );
        assert_eq!(text(&output).find(&notice), Some(kept));
    }
}

#[tokio::test]
async fn ten_megabytes_stay_bounded() {
    let place = Place::new();
    let command = "head -c 10000000 /dev/zero | tr '\\0' x | fold -w 99";
    let output = place.call("bash", json!({"command": command})).await;
    let full = FullOutput::named_in(text(&output));
    assert!(text(&output).len() < 51_400);
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(full.bytes().len() as u64, truncation["totalBytes"].as_u64().unwrap());
    assert_eq!(truncation["totalBytes"], 10_000_000 + 101_010);
    assert_eq!(truncation["totalLines"], 101_011);
}

#[tokio::test]
async fn progress_is_the_tail_so_far() {
    let place = Place::new();
    place.fifo("fifo");
    let mut started =
        place.start("bash", json!({"command": "echo one; read -r _ <fifo; seq 3000; read -r _ <fifo"}));
    let update = started.shows("one").await;
    assert_ok(&update, "one\n");
    assert_eq!(update.details, Some(json!({})));
    release(place.path("fifo")).await;
    let update = started.shows("3000").await;
    let details = update.details.unwrap();
    assert_eq!(details["truncation"]["totalLines"], 3002);
    assert!(details["fullOutputPath"].is_string());
    release(place.path("fifo")).await;
    FullOutput::named_in(text(&started.ends().await));
}

#[tokio::test]
async fn unread_progress_blocks_no_tool() {
    let place = Place::new();
    let started = place.start("bash", json!({"command": "for i in $(seq 200); do echo $i; done"}));
    within(async {
        while !started.result.is_finished() {
            tokio::task::yield_now().await
        }
    })
    .await;
    assert_eq!(text(&started.ends().await).lines().count(), 200);
}

#[tokio::test]
async fn a_character_may_come_in_two_pieces() {
    let place = Place::new();
    place.fifo("fifo");
    let command = "printf 'a\\303'; read -r _ <fifo; printf '\\251\\n'";
    let mut started = place.start("bash", json!({"command": command}));
    assert_ok(&started.shows("a").await, "a");
    release(place.path("fifo")).await;
    assert_ok(&started.ends().await, "aé\n");
}

#[tokio::test]
async fn abort_keeps_what_was_printed() {
    let mut place = Place::new();
    for (notice, shown) in [
        (StopNotice::After, "started\n\n\nCommand aborted"),
        (StopNotice::Before, "[Command cancelled]\nstarted\n"),
    ] {
        place.shell.stop_notice = notice;
        place.cancel = Default::default();
        let mut started = place.start("bash", json!({"command": "echo started; sleep 1000"}));
        started.shows("started").await;
        place.cancel.cancel();
        assert_error(&started.ends().await, shown);
    }
}

#[tokio::test]
async fn abort_without_output() {
    let mut place = Place::new();
    for (notice, shown) in
        [(StopNotice::After, "Command aborted"), (StopNotice::Before, "[Command cancelled]\n")]
    {
        place.shell.stop_notice = notice;
        place.cancel = Default::default();
        let started = place.start("bash", json!({"command": "touch here; sleep 1000"}));
        eventually("the command runs", || place.path("here").exists()).await;
        place.cancel.cancel();
        assert_error(&started.ends().await, shown);
        std::fs::remove_file(place.path("here")).unwrap();
    }
}

/// The output of a command that says "hi" before its time is over; on a busy machine it is called again.
async fn greeted(place: &Place, arguments: &Value) -> ToolOutput {
    loop {
        let output = place.call("bash", arguments.clone()).await;
        if text(&output).contains("hi") {
            return output;
        }
    }
}

#[tokio::test]
async fn a_command_out_of_time_is_ended() {
    let mut place = Place::new();
    let output = place.call("bash", json!({"command": "sleep 1000", "timeout": 0.1})).await;
    assert_error(&output, "Command timed out after 0.1 seconds");
    let greets = json!({"command": "echo hi; sleep 1000", "timeout": 0.5});
    assert_error(&greeted(&place, &greets).await, "hi\n\n\nCommand timed out after 0.5 seconds");
    place.shell.stop_notice = StopNotice::Before;
    place.shell.timeout = Some(Duration::from_secs(1));
    let greets = json!({"command": "echo hi; sleep 1000"});
    assert_error(&greeted(&place, &greets).await, "[Command timed out after 1 seconds]\nhi\n");
    place.shell.reports_timeout = true;
    place.shell.timeout = Some(Duration::from_secs(300));
    let output = place.call("bash", json!({"command": "echo hi"})).await;
    assert_eq!(output.details, Some(json!({"timeoutSeconds": 300})));
}

#[tokio::test]
async fn abort_leaves_no_process_that_ignores_term() {
    let place = Place::new();
    let command = "trap '' TERM; echo $$; for i in 1 2 3; do (trap '' TERM; sleep 1000; sleep 1000) & done; \
                   echo ready; while :; do sleep 1000; done";
    let mut started = place.start("bash", json!({"command": command}));
    let update = started.shows("ready").await;
    let group = text(&update).lines().next().unwrap().to_owned();
    assert!(alive_in_group(&group).len() >= 4);
    place.cancel.cancel();
    let output = started.ends().await;
    assert_eq!(alive_in_group(&group), Vec::<String>::new());
    assert!(text(&output).ends_with("ready\n\n\nCommand aborted"));
    assert!(place.processes.live_groups().is_empty());
}

#[tokio::test]
async fn background_job_runs_until_server_ends() {
    let place = Place::new();
    place.fifo("fifo");
    let command = "echo $$; (read -r _ <fifo; seq 100000; touch done; sleep 1000) & echo left";
    let output = place.call("bash", json!({"command": command})).await;
    let (group, rest) = text(&output).split_once('\n').unwrap();
    assert_eq!(rest, "left\n");
    assert_eq!(place.processes.live_groups(), [group.parse::<u32>().unwrap()]);
    // Its output has nobody to go to, yet it is not killed by that.
    release(place.path("fifo")).await;
    eventually("the job writes to its end", || place.path("done").exists()).await;
    assert!(!alive_in_group(group).is_empty());
    within(place.processes.end_all()).await;
    assert_eq!(alive_in_group(group), Vec::<String>::new());
    assert!(place.processes.live_groups().is_empty());
    let output = place.call("bash", json!({"command": "echo more"})).await;
    assert_error(&output, "Failed to run the command: the server is ending");
}

#[tokio::test]
async fn background_flood_does_not_delay_result() {
    let place = Place::new();
    let output = place.call("bash", json!({"command": "yes & sleep 0.01; true"})).await;
    FullOutput::named_in(text(&output));
    within(place.processes.end_all()).await;
    assert!(place.processes.live_groups().is_empty());
}

#[tokio::test]
async fn dropped_task_leaves_no_process() {
    let place = Place::new();
    let mut started = place.start("bash", json!({"command": "echo $$ ready; sleep 1000 & sleep 1000"}));
    let update = started.shows("ready").await;
    let group = text(&update).split(' ').next().unwrap().to_owned();
    started.result.abort();
    eventually("the group dies", || alive_in_group(&group).is_empty()).await;
}

#[tokio::test]
async fn a_closed_gate_holds_the_command_up() {
    let place = Place::new();
    place.gate.send_replace(false);
    let command = "head -c 1000000 /dev/zero | tr '\\0' x | fold -w 999; touch done";
    let mut started = place.start("bash", json!({"command": command}));
    // The longer one waits, the surer; nothing can go wrong by being slow.
    let waited = tokio::time::timeout(Duration::from_millis(300), started.progress.recv()).await;
    assert!(waited.is_err(), "output was read");
    assert!(!place.path("done").exists());
    place.gate.send_replace(true);
    let output = started.ends().await;
    assert_eq!(FullOutput::named_in(text(&output)).bytes().len(), 1_001_001);
    assert!(place.path("done").exists());
}

#[tokio::test]
async fn closed_gate_does_not_delay_abort() {
    let place = Place::new();
    place.gate.send_replace(false);
    let started = place.start("bash", json!({"command": "echo hi; touch here; sleep 1000"}));
    eventually("the command runs", || place.path("here").exists()).await;
    place.cancel.cancel();
    assert_error(&started.ends().await, "hi\n\n\nCommand aborted");
}

#[tokio::test]
async fn failed_shell_start_names_reason() {
    let mut place = Place::new();
    place.shell.shell = Some("/no/such/shell".into());
    let output = place.call("bash", json!({"command": "true"})).await;
    assert!(text(&output).starts_with("Custom shell path not found: /no/such/shell\n"));
    place.shell.shell = None;
    let gone = place.dir.path().to_owned();
    std::fs::remove_dir(&gone).unwrap();
    let output = place.call("bash", json!({"command": "true"})).await;
    let words =
        format!("Working directory does not exist: {}\nCannot execute bash commands.", gone.display());
    assert_error(&output, &words);
}
