import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer, Setup } from './peer.ts'
import { findProgram, versionOf } from './program.ts'

export const nginx: Peer = {
  name: 'nginx',
  logs: true,
  wires: new Set(['https', 'h2c', 'h2']),
  find() {
    const program = findProgram('nginx')
    return program === null ? { missing: 'nginx is not installed' } : { program, args: [] }
  },
  version: (command) => versionOf(command, '-v'),
  configure(setup) {
    // Started by root, its workers are another user, who must be able to make temporary files.
    chmodSync(setup.folder, 0o755)
    const path = join(setup.folder, 'nginx.conf')
    writeFileSync(path, configuration(setup))
    return ['-c', path, '-p', setup.folder, '-e', 'stderr']
  }
}

/**
 * The settings that an operator who cares would make: keepalive to the backend and no answer ever
 * written to disk. Event streams are not buffered, or they would not be streams.
 */
function configuration(setup: Setup): string {
  const { port, upstreamPort, threads, connections, model, wire, folder, isLogged } = setup
  return `
daemon off;
worker_processes ${threads};
pid ${folder}/nginx.pid;
error_log stderr crit;
events { worker_connections ${connections + 1024}; }
http {
  access_log ${isLogged ? `${folder}/access.log` : 'off'};
  keepalive_timeout 3600s;
  keepalive_requests 1000000000;
  http2_max_concurrent_streams 1024;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  proxy_max_temp_file_size 0;
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  upstream backend {
    server 127.0.0.1:${upstreamPort};
    keepalive 1024;
    keepalive_timeout 3600s;
    keepalive_requests 1000000000;
  }
  server {
    listen 127.0.0.1:${port} backlog=4096${threads > 1 ? ' reuseport' : ''}${LISTEN[wire]};
${tlsOf(setup)}    location / { proxy_pass http://backend; }
    location = /sse { proxy_pass http://backend; proxy_buffering off; }
${model === null ? '' : '    location /v1/ { proxy_pass http://backend; proxy_buffering off; }\n'}  }
}
`
}

const LISTEN: Readonly<Record<Setup['wire'], string>> = {
  http: '',
  https: ' ssl',
  h2c: ' http2',
  h2: ' ssl http2',
  grpc: '',
  tcp: ''
}

function tlsOf({ wire, certificate }: Setup): string {
  if (wire !== 'https' && wire !== 'h2') return ''
  return `    ssl_certificate ${certificate.chain};\n    ssl_certificate_key ${certificate.key};\n`
}
