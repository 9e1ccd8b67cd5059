/** Certificates for tests, made by openssl: every set is of its own run. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemProgram } from './system-programs.ts'

/** PEM. */
export interface Pair {
  readonly cert: string
  readonly key: string
}

export interface Authority extends Pair {
  /** A certificate for what `names` (DNS:a.test, URI:spiffe://...) say; `subject` is like "/O=b/CN=a". */
  issue(subject: string, names?: readonly string[], days?: number): Pair
  /** The certificate that a request (PEM) asks for, with the names in it. */
  sign(request: string): string
}

const CURVE = ['ec', '-pkeyopt', 'ec_paramgen_curve:P-256']

/** A certificate that signs itself, for the DNS names; the first is its subject too. */
export function selfSigned(names: readonly string[], kind: 'ec' | 'rsa' = 'ec'): Pair {
  return within((folder) => {
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
    const subject = ['-subj', `/CN=${names[0]}`, '-addext', `subjectAltName=${names.map((n) => `DNS:${n}`).join(',')}`]
    const kinds = kind === 'ec' ? CURVE : ['rsa:2048']
    openssl('req', '-x509', '-newkey', ...kinds, '-nodes', '-days', '2', ...subject, '-keyout', key, '-out', cert)
    return { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') }
  })
}

/** `own`: of one that was made before. */
export function authority(name: string, own: Pair = selfSigned([name])): Authority {
  return {
    ...own,
    issue: (subject, names = [], days = 2) => issue(own, subject, names, days),
    sign: (request) => sign(own, request)
  }
}

function issue(by: Pair, subject: string, names: readonly string[], days: number): Pair {
  return within((folder) => {
    const path = (name: string) => join(folder, name)
    writeFileSync(path('ca'), by.cert)
    writeFileSync(path('ca.key'), by.key)
    const extensions = names.length === 0 ? 'basicConstraints=CA:FALSE' : `subjectAltName=${names.join(',')}`
    writeFileSync(path('extensions'), extensions)
    openssl('req', '-newkey', ...CURVE, '-nodes', '-subj', subject, '-keyout', path('key'), '-out', path('request'))
    const signer = ['-CA', path('ca'), '-CAkey', path('ca.key'), '-CAcreateserial', '-extfile', path('extensions')]
    openssl('x509', '-req', '-in', path('request'), ...signer, '-days', String(days), '-out', path('cert'))
    return { cert: readFileSync(path('cert'), 'utf8'), key: readFileSync(path('key'), 'utf8') }
  })
}

function sign(by: Pair, request: string): string {
  return within((folder) => {
    const path = (name: string) => join(folder, name)
    writeFileSync(path('ca'), by.cert)
    writeFileSync(path('ca.key'), by.key)
    writeFileSync(path('request'), request)
    const signer = ['-CA', path('ca'), '-CAkey', path('ca.key'), '-CAcreateserial', '-copy_extensions', 'copyall']
    openssl('x509', '-req', '-in', path('request'), ...signer, '-days', '1', '-out', path('cert'))
    return readFileSync(path('cert'), 'utf8')
  })
}

/** Texts of the files that docs/examples refer to; certificates (tls/NAME.pem, tls/NAME.key) are made, once. */
export function exampleFiles(): (path: string) => string {
  const made = new Map<string, Pair>()
  return (path) => {
    const found = /[\\/]tls[\\/](\w+)\.(pem|key)$/.exec(path)
    if (found === null) return readFileSync(path, 'utf8')
    const [, name, kind] = found
    const pair = made.get(name!) ?? selfSigned([`${name}.test`, `*.${name}.test`])
    made.set(name!, pair)
    return kind === 'key' ? pair.key : pair.cert
  }
}

function within<T>(work: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'weir-certificates-'))
  try {
    return work(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function openssl(...args: string[]): void {
  execFileSync(systemProgram('openssl'), args, { stdio: ['ignore', 'ignore', 'pipe'] })
}
