//! NATS servers with JetStream, alone or as a cluster.

use crate::{serve_support::eventually, toolchain_support::nats_server};
use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
};
use tempfile::TempDir;

/// Servers that run.
pub struct Servers {
    dir: TempDir,
    program: PathBuf,
    ports: Vec<u16>,
    children: Vec<Option<Child>>,
}

impl Servers {
    /// Starts a server, or a cluster of them; `None`: there is no program.
    pub fn start(count: usize) -> Option<Self> {
        Self::start_with(count, "")
    }

    /// Starts servers with these lines in their configuration.
    pub fn start_with(count: usize, lines: &str) -> Option<Self> {
        let program = nats_server()?;
        let dir = tempfile::tempdir().unwrap();
        let ports = free_ports(2 * count);
        let (ports, routes) = ports.split_at(count);
        let all_routes: Vec<String> = routes.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        for index in 0..count {
            let store = dir.path().join(format!("store{index}"));
            let mut config = format!(
                "server_name: n{index}\nlisten: 127.0.0.1:{}\njetstream {{ store_dir: {:?} }}\n",
                ports[index], store
            ) + lines;
            if count > 1 {
                let (listen, routes) = (routes[index], all_routes.join(", "));
                config += &format!(
                    "cluster {{ name: tests, listen: 127.0.0.1:{listen}, no_advertise: true, routes: [{routes}] }}\n"
                );
            }
            fs::write(dir.path().join(format!("n{index}.conf")), config).unwrap();
        }
        let children = (0..count).map(|_| None).collect();
        let mut servers = Self { dir, program, ports: ports.to_vec(), children };
        (0..count).for_each(|index| servers.run(index));
        Some(servers)
    }

    /// Starts one of the servers.
    pub fn run(&mut self, index: usize) {
        let log = fs::File::create(self.dir.path().join(format!("n{index}.log"))).unwrap();
        let mut line = Command::new(&self.program);
        line.arg("-c").arg(self.dir.path().join(format!("n{index}.conf")));
        line.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        self.children[index] = Some(line.spawn().unwrap());
        let port = self.ports[index];
        eventually("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    }

    /// Kills one of the servers.
    pub fn kill(&mut self, index: usize) {
        if let Some(mut child) = self.children[index].take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// The ports of all servers.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// The URLs of all servers.
    pub fn urls(&self) -> String {
        let urls: Vec<String> = self.ports.iter().map(|port| format!("nats://127.0.0.1:{port}")).collect();
        urls.join(",")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        (0..self.children.len()).for_each(|index| self.kill(index));
    }
}

/// Ports that were free a moment ago.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<TcpListener> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
