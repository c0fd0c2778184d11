// nginx as the limit of what a proxy can cost: one worker, keep-alive on both sides, nothing buffered, nothing logged.
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type BenchCandidate, freePort, type StartOptions, waitFor } from "./candidate.ts"
import { childPids } from "./process-stat.ts"

export function findNginx(): string | undefined {
  return Bun.which("nginx", { PATH: `${process.env.PATH}:/usr/sbin:/usr/local/sbin` }) ?? undefined
}

export async function startNginx(binary: string, options: StartOptions): Promise<BenchCandidate> {
  const folder = join(options.folder, "nginx")
  mkdirSync(folder)
  const port = freePort()
  const file = join(folder, "nginx.conf")
  writeFileSync(file, configuration({ folder, port, upstreamPort: options.upstreamPort }))
  const log = join(folder, "output.log")
  const command = [binary, "-p", folder, "-c", file, "-e", join(folder, "error.log")]
  const child = options.children.spawn(command, { cpu: options.cpu, log })
  const pid = await waitFor("nginx", async () => {
    await fetch(`http://127.0.0.1:${port}/ready`)
    return childPids(child.pid)[0]
  })
  return { name: "nginx", port, headers: {}, pid }
}

function configuration({ folder, port, upstreamPort }: { folder: string; port: number; upstreamPort: number }): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  )
  return `daemon off;
worker_processes 1;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log error;
events { worker_connections 4096; }
http {
  ${temporary.join("\n  ")}
  access_log off;
  keepalive_requests 1000000000;
  client_max_body_size 64m;
  client_body_buffer_size 256k;
  upstream fixed {
    server 127.0.0.1:${upstreamPort};
    keepalive 512;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port};
    location = /ready { return 204; }
    location / {
      proxy_pass http://fixed;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
    }
  }
}
`
}
