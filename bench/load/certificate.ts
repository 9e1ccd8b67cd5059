/** A certificate of the bench's own, ECDSA P-256, made anew for every run. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Certificate } from './peers/peer.ts'
import { findProgram } from './peers/program.ts'

/** Null: openssl is not installed. Files stay in `folder`. */
export function makeCertificate(folder: string): Certificate | null {
  const openssl = findProgram('openssl')
  if (openssl === null) return null
  const files = { chain: join(folder, 'chain.pem'), key: join(folder, 'key.pem'), both: join(folder, 'both.pem') }
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const name = ['-subj', '/CN=bench.example.com', '-addext', 'subjectAltName=DNS:bench.example.com']
  execFileSync(openssl, ['req', '-x509', ...kind, ...name, '-keyout', files.key, '-out', files.chain], {
    stdio: 'ignore'
  })
  writeFileSync(files.both, `${readFileSync(files.chain, 'utf8')}${readFileSync(files.key, 'utf8')}`)
  return files
}
