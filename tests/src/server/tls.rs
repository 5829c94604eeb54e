//! Certificates for one server and its clients, made on the spot.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, SanType,
};

/// An authority, a server's certificate for `127.0.0.1` and `localhost`, and a client's; as PEM files.
#[derive(Debug)]
pub struct Certificates {
    folder: PathBuf,
}

impl Certificates {
    /// New ones, in files of this folder.
    ///
    /// # Panics
    /// When the folder isn't writable.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        let made = Self {
            folder: folder.to_owned(),
        };
        made.make().expect("certificates for 127.0.0.1 are valid");
        made
    }

    fn make(&self) -> Result<(), rcgen::Error> {
        let mut authority = CertificateParams::new(Vec::new())?;
        // each of its own name, as two authorities have it
        let number: u64 = rand::random();
        authority.distinguished_name = named(&format!("authority {number:016x}"));
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        self.write("ca.pem", &authority.self_signed(&key)?.pem());
        let issuer = Issuer::new(authority, key);
        for name in ["server", "client"] {
            let mut names = CertificateParams::new(vec!["localhost".to_owned()])?;
            names
                .subject_alt_names
                .push(SanType::IpAddress([127, 0, 0, 1].into()));
            names.distinguished_name = named(name);
            let key = KeyPair::generate()?;
            let certificate = names.signed_by(&key, &issuer)?;
            self.write(&format!("{name}.pem"), &certificate.pem());
            self.write(&format!("{name}.key"), &key.serialize_pem());
        }
        Ok(())
    }

    fn write(&self, file: &str, text: &str) {
        fs::write(self.folder.join(file), text).expect("the server's own folder is writable");
    }

    /// The path of `ca.pem`, `client.pem`, `client.key`, `server.pem` or `server.key`.
    #[must_use]
    pub fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The text of one of these files.
    ///
    /// # Panics
    /// When there is none of this name.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).expect("it was made with the others")
    }

    pub(super) fn lines(&self, port: u16, asks: bool) -> String {
        format!(
            "tls-port {port}\ntls-ca-cert-file {}\ntls-cert-file {}\ntls-key-file {}\ntls-auth-clients {}\n",
            self.file("ca.pem"),
            self.file("server.pem"),
            self.file("server.key"),
            if asks { "yes" } else { "no" }
        )
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut whole = DistinguishedName::new();
    whole.push(DnType::CommonName, name);
    whole
}
