/** nginx as the canonical backend: the same fixed answers as the own server, at the least CPU. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ANSWER_HEADERS, ANSWERS } from './answers.ts'

/** Writes what nginx needs into `folder`; gives the path of its configuration. */
export function writeBackend(folder: string, port: number): string {
  writeFileSync(join(folder, '1m'), ANSWERS.megabyte)
  // Started by root, nginx serves as another user, who must be able to read the file.
  chmodSync(folder, 0o755)
  const path = join(folder, 'backend.conf')
  writeFileSync(path, configuration(folder, port))
  return path
}

function configuration(folder: string, port: number): string {
  const headers = ANSWER_HEADERS.map(([name, value]) => `      add_header ${name} '${value}';`).join('\n')
  return `
daemon off;
worker_processes 1;
pid ${folder}/backend.pid;
error_log stderr crit;
events { worker_connections 16384; }
http {
  access_log off;
  sendfile on;
  tcp_nopush on;
  open_file_cache max=10;
  etag off;
  keepalive_timeout 3600s;
  keepalive_requests 1000000000;
  client_body_temp_path ${folder}/backend-body;
  proxy_temp_path ${folder}/backend-proxy;
  fastcgi_temp_path ${folder}/backend-fastcgi;
  uwsgi_temp_path ${folder}/backend-uwsgi;
  scgi_temp_path ${folder}/backend-scgi;
  server {
    listen 127.0.0.1:${port} backlog=4096;
${headers.replaceAll('      ', '    ')}
    default_type text/plain;
    location / { return 200 '${ANSWERS.kilobyte.toString('latin1')}'; }
    location = /4k { default_type application/json; return 200 '${ANSWERS.accepted.toString('latin1')}'; }
    location = /1m { root ${folder}; default_type application/octet-stream; }
  }
}
`
}
