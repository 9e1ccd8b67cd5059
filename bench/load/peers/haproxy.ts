import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer, Setup } from './peer.ts'
import { findProgram, versionOf } from './program.ts'

export const haproxy: Peer = {
  name: 'haproxy',
  find() {
    const program = findProgram('haproxy')
    return program === null ? { missing: 'haproxy is not installed' } : { program, args: [] }
  },
  version: (command) => versionOf(command, '-v'),
  configure(setup) {
    const path = join(setup.folder, 'haproxy.cfg')
    writeFileSync(path, configuration(setup))
    return ['-db', '-q', '-f', path]
  }
}

function configuration({ port, upstreamPort, threads, connections }: Setup): string {
  return `
global
  nbthread ${threads}
  maxconn ${connections + 1024}
  no strict-limits
defaults
  mode http
  timeout connect 5s
  timeout client 1h
  timeout server 1h
  timeout http-keep-alive 1h
  http-reuse always
frontend bench
  bind 127.0.0.1:${port} backlog 4096
  default_backend backend
backend backend
  server one 127.0.0.1:${upstreamPort} pool-purge-delay 1h
`
}
