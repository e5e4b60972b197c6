//! `antctl check probe`: asks all questions at once, each until it is answered or the time is over.

use std::io::{Error, ErrorKind};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout};

use super::{Answer, Failure, Question, Wanted};

/// For one attempt.
const ATTEMPT: Duration = Duration::from_secs(3);
/// For all attempts of a question: Services and other Nodes learn of new Pods within seconds.
const PATIENCE: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(250);
/// More than the packets of any MTU hold.
const LARGE: usize = 200_000;

/// Prints a line for each question.
pub(crate) async fn ask(questions: &str) -> Result<ExitCode> {
    let questions: Vec<Question> = serde_json::from_str(questions).context("the questions are no JSON")?;
    let each =
        |(index, question)| async move { Answer { index, failure: persist(question, PATIENCE).await.err() } };
    let mut answers: FuturesUnordered<_> = questions.iter().enumerate().map(each).collect();
    while let Some(answer) = answers.next().await {
        println!("{}", serde_json::to_string(&answer).context("an answer is no JSON")?);
    }
    Ok(ExitCode::SUCCESS)
}

/// The first answer, or the last failure.
async fn persist(question: &Question, patience: Duration) -> Result<(), Failure> {
    let end = Instant::now() + patience;
    loop {
        let result = attempt(question).await;
        if result.is_ok() || Instant::now() + PAUSE > end {
            return result;
        }
        sleep(PAUSE).await;
    }
}

async fn attempt(question: &Question) -> Result<(), Failure> {
    let connected = timeout(ATTEMPT, connect(&question.target)).await.unwrap_or(Err(Failure::NoAnswer));
    match (question.wanted, connected) {
        (Wanted::Contact, Err(Failure::Refused)) => Ok(()),
        (Wanted::Contact | Wanted::Connection, connected) => connected.map(drop),
        (Wanted::Echo, connected) => {
            let echoed = timeout(ATTEMPT, echo(connected?)).await;
            echoed.unwrap_or(Err(Failure::Stalled))
        }
    }
}

async fn connect(target: &str) -> Result<TcpStream, Failure> {
    let addresses = lookup_host(target).await.map_err(|error| Failure::UnknownName(error.to_string()))?;
    let mut last = Failure::UnknownName("it has no address".to_owned());
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = failure(&error),
        }
    }
    Err(last)
}

/// The server says its name first, then sends back what it gets.
async fn echo(stream: TcpStream) -> Result<(), Failure> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    let mut name = String::new();
    read.read_line(&mut name).await.map_err(|error| failure(&error))?;
    let send = async {
        write.write_all(&[b'x'; LARGE]).await?;
        write.shutdown().await
    };
    let mut back = Vec::with_capacity(LARGE);
    let sent = tokio::try_join!(send, read.read_to_end(&mut back));
    sent.map_err(|error| failure(&error))?;
    if back.len() == LARGE { Ok(()) } else { Err(Failure::Stalled) }
}

fn failure(error: &Error) -> Failure {
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::Refused,
        ErrorKind::TimedOut => Failure::NoAnswer,
        _ => Failure::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::super::serve;
    use super::*;

    fn run<T>(future: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(future)
    }

    async fn asked(target: &str, wanted: Wanted) -> Result<(), Failure> {
        attempt(&Question { target: target.to_owned(), wanted }).await
    }

    #[test]
    fn our_server_sends_everything_back() {
        run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let target = listener.local_addr().unwrap().to_string();
            let server = tokio::spawn(serve::answer(listener, "echo-1".to_owned()));
            assert_eq!(asked(&target, Wanted::Echo).await, Ok(()));
            assert_eq!(asked(&target, Wanted::Connection).await, Ok(()));
            server.abort();
        });
    }

    #[test]
    fn a_refusal_is_a_contact_but_no_connection() {
        run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let target = listener.local_addr().unwrap().to_string();
            drop(listener);
            assert_eq!(asked(&target, Wanted::Contact).await, Ok(()));
            assert_eq!(asked(&target, Wanted::Connection).await, Err(Failure::Refused));
            assert_eq!(asked(&target, Wanted::Echo).await, Err(Failure::Refused));
        });
    }

    #[test]
    fn a_server_that_says_something_else_is_not_ours() {
        run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let target = listener.local_addr().unwrap().to_string();
            let server = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                stream.write_all(b"hello\nwho are you?").await.unwrap();
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await.unwrap();
            });
            assert_eq!(asked(&target, Wanted::Echo).await, Err(Failure::Stalled));
            server.await.unwrap();
        });
    }
}
