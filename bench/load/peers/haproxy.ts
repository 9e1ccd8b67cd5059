import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Peer, Setup } from './peer.ts'
import { findProgram, versionOf } from './program.ts'

export const haproxy: Peer = {
  name: 'haproxy',
  wires: new Set(['https', 'h2c', 'h2', 'tcp']),
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

function configuration(setup: Setup): string {
  const { port, upstreamPort, threads, connections, wire } = setup
  return `
global
  nbthread ${threads}
  maxconn ${connections + 1024}
  no strict-limits
defaults
  mode ${wire === 'tcp' ? 'tcp' : 'http'}
  timeout connect 5s
  timeout client 1h
  timeout server 1h
${wire === 'tcp' ? '' : '  timeout http-keep-alive 1h\n  http-reuse always\n'}frontend bench
  bind 127.0.0.1:${port} backlog 4096${bindOf(setup)}
  default_backend backend
backend backend
  server one 127.0.0.1:${upstreamPort} pool-purge-delay 1h
`
}

function bindOf({ wire, certificate }: Setup): string {
  if (wire === 'https') return ` ssl crt ${certificate.both} alpn http/1.1`
  if (wire === 'h2') return ` ssl crt ${certificate.both} alpn h2`
  return wire === 'h2c' ? ' proto h2' : ''
}
