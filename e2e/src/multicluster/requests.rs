//! Ten requests a second, each on a connection of its own that waits for no other one, and when each was answered.

use std::net::SocketAddr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};

use crate::pods::Pod;
use crate::wait;

/// For the first answers, and for the last one.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whoever has not been answered by then has failed. Of the last line of curl's output the number is how long it took to
/// connect: 0 when it could not.
const CLIENT: &str = r#"
ask() {
  local asked=$EPOCHREALTIME by
  by=$(curl -gsSf --max-time 5 -w '\n%{time_connect}' "http://$1/hostname" 2>/dev/null) || case ${by##*$'\n'} in
    *[1-9]*) by=broken ;;
    *) by=failed ;;
  esac
  echo "$asked $EPOCHREALTIME ${by%$'\n'*}"
}
while [ ! -e /tmp/stop-requests ]; do ask "$1" & sleep 0.1; done
wait
echo stopped
"#;

const START: &str =
    r#"rm -f /tmp/stop-requests; setsid bash -c "$1" client "$2" </dev/null >/tmp/requests 2>&1 &"#;

/// A request that took so long was sent more than once: TCP sends again after a second.
const PROMPT: Duration = Duration::from_millis(900);

/// So many requests in a row are no accident: of those to a cluster that cannot be reached every second one is prompt.
const RUN: usize = 10;

/// Requests that go on.
#[derive(Debug)]
pub struct Requests {
    from: Pod,
}

/// What became of requests, in the order in which they were asked.
#[derive(Debug)]
pub struct Answers(Vec<Answer>);

/// A request; the times are since 1970.
#[derive(Debug, PartialEq)]
struct Answer {
    asked: Duration,
    answered: Duration,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    /// There was a connection, which got no answer.
    Broken,
    /// There was no connection.
    Failed,
}

impl Requests {
    /// Starts them, and waits for the first answers.
    ///
    /// # Errors
    /// When nobody answers.
    pub fn start(from: &Pod, server: SocketAddr) -> Result<Self> {
        from.exec(&["bash", "-c", START, "start", CLIENT, &server.to_string()])?;
        let requests = Self { from: from.clone() };
        wait::until(PATIENCE, "the first answers", || {
            let answers = requests.answers()?;
            ensure!(answers.0.len() >= 5, "there are {}", answers.0.len());
            Ok(true)
        })?;
        Ok(requests)
    }

    /// Ends them: what became of each.
    ///
    /// # Errors
    /// When the client does not stop.
    pub fn end(self) -> Result<Answers> {
        self.from.exec(&["touch", "/tmp/stop-requests"])?;
        wait::until(PATIENCE, "the last answer", || {
            ensure!(self.lines()?.ends_with("stopped\n"), "requests go on");
            Ok(true)
        })?;
        self.answers()
    }

    fn answers(&self) -> Result<Answers> {
        Answers::read(&self.lines()?)
    }

    fn lines(&self) -> Result<String> {
        self.from.exec(&["cat", "/tmp/requests"])
    }
}

impl Answers {
    fn read(lines: &str) -> Result<Self> {
        let lines = lines.lines().filter(|line| *line != "stopped");
        let mut all: Vec<Answer> = lines.map(Answer::read).collect::<Result<_>>()?;
        all.sort_by_key(|answer| answer.asked);
        Ok(Self(all))
    }

    /// Nobody failed.
    ///
    /// # Errors
    /// When a request found no connection, or when more than one lost it: it was under way when connections through the
    /// old Gateway broke.
    pub fn ensure_none_failed(&self) -> Result<()> {
        let [failed, broken] = [Outcome::Failed, Outcome::Broken].map(|outcome| self.count(outcome));
        ensure!(failed == 0 && broken <= 1, "{}", self.summary());
        Ok(())
    }

    /// How many found no connection, or lost it.
    pub fn unanswered(&self) -> usize {
        self.count(Outcome::Failed) + self.count(Outcome::Broken)
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.0.iter().filter(|answer| answer.outcome == outcome).count()
    }

    /// From when on, after `change`, requests were prompt again: that one, and those that followed.
    ///
    /// # Errors
    /// When they never were.
    pub fn prompt_since(&self, change: SystemTime) -> Result<SystemTime> {
        let change = change.duration_since(UNIX_EPOCH)?;
        let mut runs = self.0.windows(RUN).filter(|run| run.iter().all(Answer::is_prompt));
        let run = runs.find(|run| run.first().is_some_and(|first| first.asked >= change));
        let first = run
            .and_then(|run| run.first())
            .with_context(|| format!("never prompt again: {}", self.summary()))?;
        Ok(UNIX_EPOCH + first.asked)
    }

    /// How many there were, failed, broke and were late, and how long the slowest took that was answered.
    pub fn summary(&self) -> String {
        let [failed, broken] = [Outcome::Failed, Outcome::Broken].map(|outcome| self.count(outcome));
        let answered = || self.0.iter().filter(|answer| answer.outcome == Outcome::Answered);
        let late = answered().filter(|answer| !answer.is_prompt()).count();
        let slowest = answered().map(Answer::took).max().unwrap_or_default();
        let all = self.0.len();
        format!(
            "{all} requests, {failed} failed, {broken} broke, {late} late, the slowest took {slowest:.2?}"
        )
    }
}

impl Answer {
    fn read(line: &str) -> Result<Self> {
        let mut words = line.split(' ');
        let (asked, answered, by) = (words.next(), words.next(), words.next());
        let time = |text: Option<&str>| text?.parse().ok().map(Duration::from_secs_f64);
        let read = || Some((time(asked)?, time(answered)?, by?));
        let (asked, answered, by) = read().with_context(|| format!("{line:?} is no answer"))?;
        let outcome = match by {
            "failed" => Outcome::Failed,
            "broken" => Outcome::Broken,
            _ => Outcome::Answered,
        };
        Ok(Self { asked, answered, outcome })
    }

    fn took(&self) -> Duration {
        self.answered.saturating_sub(self.asked)
    }

    fn is_prompt(&self) -> bool {
        self.outcome == Outcome::Answered && self.took() < PROMPT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_prompt_late_broken_or_failed() {
        let lines = "1000.300000 1005.300000 failed\n1000.100000 1000.200000 pod-b\n1000.200000 1001.230000 pod-c\n\
                     1000.250000 1005.250000 broken\n1000.400000 1000.500000 pod-b\nstopped\n";
        let answers = Answers::read(lines).unwrap();
        assert_eq!(answers.summary(), "5 requests, 1 failed, 1 broke, 1 late, the slowest took 1.03s");
        assert_eq!(answers.unanswered(), 2);
        assert!(answers.prompt_since(UNIX_EPOCH).is_err());
        assert!(answers.ensure_none_failed().is_err());
        assert!(Answers::read("1 2\n").is_err());
    }

    #[test]
    fn requests_are_prompt_again_when_many_in_a_row_are() {
        let prompt = (10..30).map(|n| format!("{n}.5 {n}.6 pod-b\n"));
        let lines = prompt.chain(["5.5 5.6 pod-b\n6.5 11.5 failed\n".to_owned()]).collect::<String>();
        let answers = Answers::read(&lines).unwrap();
        let since = |change| answers.prompt_since(UNIX_EPOCH + Duration::from_secs(change)).ok();
        let at = |millis| Some(UNIX_EPOCH + Duration::from_millis(millis));
        assert_eq!([since(5), since(15), since(25)], [at(10_500), at(15_500), None]);
    }
}
