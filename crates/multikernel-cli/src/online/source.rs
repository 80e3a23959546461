//! A byte source that can be waited for and abandoned.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use multikernel::Error;
use multikernel::run::Control;

/// Bytes requested at a time.
const PIECE: usize = 1 << 16;

/// Pieces read ahead while rows are learned.
const AHEAD: usize = 8;

/// How long to wait between checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// Reads in a separate thread, so that a stop does not have to wait for bytes that may never arrive. After a stop
/// request, reads fail.
pub(super) struct Source {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    used: usize,
    control: Control,
}

impl Source {
    /// A file, or standard input for `-`.
    pub(super) fn open(path: &str, control: Control) -> Result<Source> {
        let (sender, pieces) = sync_channel(AHEAD);
        if path == "-" {
            thread::spawn(move || forward(io::stdin(), &sender));
        } else {
            let file = File::open(path).map_err(|error| Error::io("read", Path::new(path), error))?;
            thread::spawn(move || forward(file, &sender));
        }
        Ok(Source { pieces, piece: vec![], used: 0, control })
    }
}

/// Forwards what is read, as it arrives, until the end, an error, or until the receiver is gone.
fn forward(mut reader: impl Read, pieces: &SyncSender<io::Result<Vec<u8>>>) {
    let mut room = vec![0; PIECE];
    loop {
        let piece = match reader.read(&mut room) {
            Ok(0) => return,
            Ok(n) => Ok(room[..n].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if pieces.send(piece).is_err() || is_last {
            return;
        }
    }
}

impl Read for Source {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.used == self.piece.len() {
            if let Some(stop) = self.control.stop() {
                return Err(io::Error::other(stop.to_string()));
            }
            match self.pieces.recv_timeout(PATIENCE) {
                Ok(piece) => (self.piece, self.used) = (piece?, 0),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
        let n = out.len().min(self.piece.len() - self.used);
        out[..n].copy_from_slice(&self.piece[self.used..self.used + n]);
        self.used += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_that_says_nothing_can_be_given_up() {
        let control = Control::default();
        // The sender is kept, so the end never comes.
        let (sender, pieces) = sync_channel(1);
        let mut source = Source { pieces, piece: vec![], used: 0, control: control.clone() };
        sender.send(Ok(b"abc".to_vec())).unwrap();
        let mut out = [0; 2];
        assert_eq!((source.read(&mut out).unwrap(), &out), (2, b"ab"));
        assert_eq!((source.read(&mut out).unwrap(), out[0]), (1, b'c'));
        control.canceller().cancel();
        assert_eq!(source.read(&mut out).unwrap_err().to_string(), "cancelled");
    }

    #[test]
    fn bytes_of_a_file_come_whole_and_end() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let bytes: Vec<u8> = (0..1_000_000u32).map(|i| (i % 251) as u8).collect();
        std::fs::write(file.path(), &bytes).unwrap();
        let mut source = Source::open(&file.path().display().to_string(), Control::default()).unwrap();
        let mut found = vec![];
        source.read_to_end(&mut found).unwrap();
        assert!(found == bytes);
    }
}
