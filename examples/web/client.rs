//! Just enough of an HTTP client: one JSON request per connection.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A request that was sent and is not answered yet. Dropping it closes the connection.
#[derive(Debug)]
pub struct Call {
    /// The connection.
    pub stream: TcpStream,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// What follows the head.
    pub content: String,
}

impl Call {
    /// Sends a request.
    ///
    /// # Errors
    /// When nobody listens.
    pub async fn post(address: SocketAddr, path: &str, json: &str) -> io::Result<Self> {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{json}",
            json.len()
        );
        stream.write_all(request.as_bytes()).await?;
        Ok(Self { stream })
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// When the connection breaks, or what comes back is not HTTP.
    pub async fn answer(mut self) -> io::Result<Answer> {
        let mut text = String::new();
        self.stream.read_to_string(&mut text).await?;
        Answer::parse(&text)
            .ok_or_else(|| io::Error::other(format!("not an HTTP answer: {text:?}")))
    }
}

impl Answer {
    fn parse(text: &str) -> Option<Self> {
        let (head, content) = text.split_once("\r\n\r\n")?;
        let (status, headers) = head.split_once("\r\n")?;
        let headers = headers
            .lines()
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()));
        Some(Self {
            status: status.split(' ').nth(1)?.parse().ok()?,
            headers: headers.collect(),
            content: content.to_owned(),
        })
    }

    /// The value of a header, its name in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}
