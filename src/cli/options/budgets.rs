//! The options `--max-cost`, `--max-turns` and `--max-time`: budgets of a run, and with `session=` of a session.

use super::Refusal;
use crate::cli::USAGE;
use pi_rpc_engine::BudgetPlan;

/// Reads the value of `option` (without dashes) into `plan`: limits separated by commas, `[run=|session=]LIMIT` each.
pub fn read(option: &str, text: &str, plan: &mut BudgetPlan) -> Result<(), Refusal> {
    plan.read(option, text).map_err(|reason| Refusal(format!("--{option} {text}: {reason}"), USAGE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pi_rpc_engine::BudgetLimits;
    use std::time::Duration;

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
        let values = ["0.5,session=5", "3", "session=90"].map(|value| Some(value.to_owned()));
        assert_eq!(plan.values(), values);
    }

    #[test]
    fn narrowing_keeps_the_lower_limits() {
        let plan = |cost: &str, turns: &str| {
            let mut plan = BudgetPlan::default();
            read("max-cost", cost, &mut plan).unwrap();
            read("max-turns", turns, &mut plan).unwrap();
            plan
        };
        let mut narrowed = plan("2,session=5", "3");
        narrowed.narrow(&plan("1,session=9", "session=7"));
        assert_eq!(narrowed, plan("1,session=5", "3,session=7"));
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
