/** A certificate authority of a test, made by openssl in a folder of its own that goes with the test. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemProgram } from './system-programs.ts'

export interface Leaf {
  /** Paths of PEM files. */
  readonly cert: string
  readonly key: string
}

export interface LeafOptions {
  /** As openssl writes it: "DNS:a.test,IP:127.0.0.1,URI:spiffe://a/b"; '' for none. */
  readonly names?: string
  readonly usage?: 'serverAuth' | 'clientAuth'
  /** YYYYMMDDHHMMSSZ; default: from now, for a day. */
  readonly from?: string
  readonly to?: string
}

const EC = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']

export class TestAuthority {
  readonly folder = mkdtempSync(join(tmpdir(), 'weir-ca-'))
  /** Path of the root's certificate. */
  readonly root: string
  readonly #key: string
  #leaves = 0

  constructor(name = 'Test CA') {
    this.root = join(this.folder, 'root.pem')
    this.#key = join(this.folder, 'root.key')
    const own = ['-subj', `/CN=${name}`, '-days', '2', '-keyout', this.#key, '-out', this.root]
    this.#openssl(['req', '-x509', ...EC, ...own])
  }

  get rootText(): string {
    return readFileSync(this.root, 'utf8')
  }

  /** A certificate that this authority has signed. */
  leaf({ names = 'DNS:a.test', usage = 'serverAuth', from, to }: LeafOptions = {}): Leaf {
    const base = join(this.folder, `leaf${this.#leaves++}`)
    const [cert, key, request, extensions] = ['.pem', '.key', '.csr', '.ext'].map((end) => `${base}${end}`) as [
      string,
      string,
      string,
      string
    ]
    this.#openssl(['req', ...EC, '-subj', '/CN=common.test', '-keyout', key, '-out', request])
    const lines = [
      `extendedKeyUsage=${usage}`,
      'basicConstraints=CA:FALSE',
      ...(names === '' ? [] : [`subjectAltName=${names}`])
    ]
    writeFileSync(extensions, `${lines.join('\n')}\n`)
    const dates = from === undefined || to === undefined ? ['-days', '1'] : ['-startdate', from, '-enddate', to]
    const by = ['-config', this.#config(), '-cert', this.root, '-keyfile', this.#key]
    this.#openssl(['ca', '-batch', ...by, ...dates, '-in', request, '-extfile', extensions, '-out', cert])
    return { cert, key }
  }

  /** What `openssl ca` cannot do without: it alone can make a certificate that has expired. */
  #config(): string {
    const [path, index] = [join(this.folder, 'ca.cnf'), join(this.folder, 'index.txt')]
    if (existsSync(path)) return path
    writeFileSync(index, '')
    const settings = [`database=${index}`, `new_certs_dir=${this.folder}`, 'rand_serial=yes', 'unique_subject=no']
    const rest = ['default_md=sha256', 'policy=any', '[any]', 'commonName=supplied']
    writeFileSync(path, ['[ca]', 'default_ca=own', '[own]', ...settings, ...rest].join('\n'))
    return path
  }

  remove(): void {
    rmSync(this.folder, { recursive: true })
  }

  #openssl(args: readonly string[]): void {
    execFileSync(systemProgram('openssl'), args, { stdio: 'ignore' })
  }
}
