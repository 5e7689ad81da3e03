//! The options `--max-cost`, `--max-turns` and `--max-time`: budgets of a run, and with `session=` of a session.

use super::Refusal;
use crate::cli::USAGE;
use pi_rpc_engine::{BudgetLimits, BudgetPlan};
use std::time::Duration;

/// Reads the value of `option` (without dashes) into `plan`: limits separated by commas, `[run=|session=]LIMIT` each.
pub fn read(option: &str, text: &str, plan: &mut BudgetPlan) -> Result<(), Refusal> {
    for part in text.split(',') {
        let (limits, value) = match part.split_once('=') {
            None => (&mut plan.run, part),
            Some(("run", value)) => (&mut plan.run, value),
            Some(("session", value)) => (&mut plan.session, value),
            Some((scope, _)) => {
                let text = format!("--{option} {text}: got \"{scope}\", expected run= or session=");
                return Err(Refusal(text, USAGE));
            }
        };
        set(option, value, limits).map_err(|expected| {
            Refusal(format!("--{option} {text}: got \"{value}\", expected {expected}"), USAGE)
        })?;
    }
    Ok(())
}

/// Sets the limit that `option` names. Fails with what was expected.
fn set(option: &str, value: &str, limits: &mut BudgetLimits) -> Result<(), &'static str> {
    let positive = || value.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    match option {
        "max-cost" => limits.dollars = Some(positive().ok_or("an amount of US dollars above 0")?),
        "max-turns" => {
            let turns = value.parse().ok().filter(|turns| *turns > 0);
            limits.turns = Some(turns.ok_or("a number of answers above 0")?);
        }
        _ => {
            let time = positive().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            limits.time = Some(time.ok_or("a number of seconds above 0")?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_name_run_or_session() {
        let mut plan = BudgetPlan::default();
        for (option, text) in
            [("max-cost", "0.5,session=5"), ("max-turns", "run=3"), ("max-time", "session=90")]
        {
            read(option, text, &mut plan).unwrap();
        }
        let time = Some(Duration::from_secs(90));
        let run = BudgetLimits { dollars: Some(0.5), turns: Some(3), time: None };
        let session = BudgetLimits { dollars: Some(5.0), turns: None, time };
        assert_eq!(plan, BudgetPlan { run, session });
    }

    #[test]
    fn wrong_budgets_are_refused() {
        for (option, text, expected) in [
            ("max-cost", "0", "--max-cost 0: got \"0\", expected an amount of US dollars above 0"),
            ("max-cost", "1,", "--max-cost 1,: got \"\", expected an amount of US dollars above 0"),
            ("max-turns", "1.5", "--max-turns 1.5: got \"1.5\", expected a number of answers above 0"),
            ("max-time", "inf", "--max-time inf: got \"inf\", expected a number of seconds above 0"),
            ("max-time", "day=1", "--max-time day=1: got \"day\", expected run= or session="),
        ] {
            let refusal = read(option, text, &mut BudgetPlan::default()).unwrap_err();
            assert_eq!((refusal.0.as_str(), refusal.1), (expected, USAGE));
        }
    }
}
