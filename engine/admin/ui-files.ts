/**
 * The browser application at /ui/: files that the build has made (scripts/ui/bundle.ts), as they are. Names in assets/
 * have a hash of their content, so browsers keep them for good; every other path below /ui/ is a page of the
 * application, and gets index.html.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gunzip as gunzipCallback } from 'node:zlib'
import type { Reply, Request } from './server.ts'

const gunzip = promisify(gunzipCallback)

export const UI_PATH = '/ui/'
const ASSETS = `${UI_PATH}assets/`

/** No script, style, font or call but of this server; nothing may frame it, and no form leaves it. */
export const UI_POLICY =
  "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2'
}
const FOREVER = 'public, max-age=31536000, immutable'

/** Beside the bundle; for the sources, where `npm run build` has put it. */
function besideProgram(): string {
  const beside = join(import.meta.dirname, 'ui')
  return existsSync(beside) ? beside : join(import.meta.dirname, '..', '..', 'dist', 'ui')
}

type Coding = 'br' | 'gzip' | null
const SUFFIX = { br: '.br', gzip: '.gz' } as const

export class UiFiles {
  readonly #folder: string
  /** Names in assets/ as the build has written them, with their suffixes. Read once: a build has other names. */
  #names: Promise<ReadonlySet<string>> | null = null

  /** `folder`: what bundleUi has written; absent: that of this program. */
  constructor(folder = besideProgram()) {
    this.#folder = folder
  }

  /** Null: the path is not of the application. */
  async answer(request: Request): Promise<Reply | null> {
    const { path, method, headers } = request
    if (!path.startsWith(UI_PATH)) return null
    if (method !== 'GET' && method !== 'HEAD')
      return { status: 405, body: 'use GET\n', headers: { allow: 'GET, HEAD' } }
    const accepted = String(headers['accept-encoding'] ?? '')
    if (path.startsWith(ASSETS)) return await this.#asset(path.slice(ASSETS.length), accepted)
    return await this.#page(accepted, headers['if-none-match'])
  }

  async #asset(name: string, accepted: string): Promise<Reply> {
    this.#names ??= readdir(join(this.#folder, 'assets')).then((names) => new Set(names))
    const names = await this.#names.catch(() => new Set<string>())
    const type = TYPES[extname(name)]
    // Only names of the list are opened: no path of a request gets to the disk.
    const isPlain = names.has(name)
    if (type === undefined || (!isPlain && !names.has(`${name}.gz`))) return { status: 404, body: 'not found\n' }
    const path = join(this.#folder, 'assets', name)
    const found = isPlain ? { bytes: await readFile(path), coding: null } : await packed(path, accepted)
    return sent(type, found, { 'cache-control': FOREVER })
  }

  async #page(accepted: string, known: string | undefined): Promise<Reply> {
    const path = join(this.#folder, 'index.html')
    if (!existsSync(`${path}.gz`)) {
      return {
        status: 503,
        body: 'the application has not been built: npm run build makes it; the API is at /api/v1\n'
      }
    }
    const found = await packed(path, accepted)
    const etag = `"${createHash('sha256').update(found.bytes).digest('base64url').slice(0, 20)}"`
    const fresh = { etag, 'cache-control': 'no-cache', 'content-security-policy': UI_POLICY }
    const isKnown = known?.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag) === true
    if (isKnown) return { status: 304, body: '', headers: { ...fresh, vary: 'accept-encoding' } }
    return sent(TYPES['.html']!, found, fresh)
  }
}

interface Found {
  readonly bytes: Buffer
  readonly coding: Coding
}

async function packed(path: string, accepted: string): Promise<Found> {
  const coding = codingFor(accepted)
  if (coding !== null) return { bytes: await readFile(path + SUFFIX[coding]), coding }
  return { bytes: await gunzip(await readFile(`${path}.gz`)), coding }
}

function sent(type: string, { bytes, coding }: Found, headers: Readonly<Record<string, string>>): Reply {
  const packing = coding === null ? {} : { 'content-encoding': coding }
  return { status: 200, body: '', bytes, type, headers: { ...headers, ...packing, vary: 'accept-encoding' } }
}

/** RFC 9110, section 12.5.3, for the two codings that there are; a weight of zero refuses one. */
export function codingFor(accepted: string): Coding {
  const refused = /^q=0(?:\.0*)?$/
  const wanted = accepted.split(',').flatMap((item) => {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase())
    return parameters.some((parameter) => refused.test(parameter)) ? [] : [name]
  })
  if (wanted.includes('br')) return 'br'
  return wanted.includes('gzip') ? 'gzip' : null
}
