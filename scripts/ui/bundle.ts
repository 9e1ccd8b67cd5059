/**
 * The browser application as files that the admin port sends as they are (engine/admin/ui-files.ts): index.html, and
 * in assets/ everything else, with a hash of its content in its name. Text is there compressed only, by brotli and by
 * gzip: browsers take one of the two, and the few clients that take neither get it unpacked.
 */
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress as brotliCallback, constants, gzip as gzipCallback } from 'node:zlib'
import { type BuildOptions, build, type Metafile, type OutputFile } from 'esbuild'

const brotliCompress = promisify(brotliCallback)
const gzip = promisify(gzipCallback)

const root = join(import.meta.dirname, '..', '..')
const SOURCE = join(root, 'engine', 'ui')
/** What is packed already. */
const PACKED = new Set(['.woff2'])

export interface UiBundle {
  /** Of what went in: for the licences. */
  readonly metafile: Metafile
  /** Bytes that a browser fetches if it opens every page, compressed by brotli. */
  readonly bytes: number
}

const options = {
  absWorkingDir: root,
  outdir: join(root, 'dist', 'ui', 'assets'),
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  publicPath: '/ui/assets',
  bundle: true,
  metafile: true,
  minify: true,
  write: false,
  target: ['chrome120', 'firefox120', 'safari17'],
  legalComments: 'none',
  loader: { '.woff2': 'file', '.svg': 'copy' },
  jsx: 'automatic',
  jsxImportSource: 'preact'
} satisfies BuildOptions

/** Throws with what esbuild found. Writes nothing but below `folder`, which it empties first. */
export async function bundleUi(folder: string): Promise<UiBundle> {
  const entry = (name: string) => join(SOURCE, name)
  const [modules, early] = await Promise.all([
    build({ ...options, entryPoints: [entry('main.tsx'), entry('style/app.css')], format: 'esm', splitting: true }),
    // Runs before anything is drawn, so it is no module.
    build({ ...options, entryPoints: [entry('early.ts'), entry('icon.svg')], format: 'iife' })
  ])
  const files = [...modules.outputFiles, ...early.outputFiles]
  await rm(folder, { recursive: true, force: true })
  await mkdir(join(folder, 'assets'), { recursive: true })
  const sizes = await Promise.all(
    files.map((file) => write(join(folder, 'assets', basename(file.path)), file.contents))
  )
  const page = await readFile(entry('index.html'), 'utf8')
  const index = await write(join(folder, 'index.html'), Buffer.from(withNames(page, files)))
  return { metafile: modules.metafile, bytes: index + sizes.reduce((sum, size) => sum + size, 0) }
}

/** The page with the names that files have got: "{main.js}" stands for that of main-HASH.js. */
function withNames(page: string, files: readonly OutputFile[]): string {
  return page.replace(/\{([\w-]+)(\.\w+)\}/g, (_, name: string, type: string) => {
    const found = files.filter(({ path }) => basename(path).startsWith(`${name}-`) && extname(path) === type)
    if (found.length !== 1) throw new Error(`index.html names ${name}${type}, of which there are ${found.length}`)
    return `/ui/assets/${basename(found[0]!.path)}`
  })
}

/** Bytes as a browser gets them. */
async function write(path: string, contents: Uint8Array): Promise<number> {
  if (PACKED.has(extname(path))) {
    await writeFile(path, contents)
    return contents.length
  }
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: contents.length }
  const [br, gz] = await Promise.all([brotliCompress(contents, { params }), gzip(contents, { level: 9 })])
  await Promise.all([writeFile(`${path}.br`, br), writeFile(`${path}.gz`, gz)])
  return br.length
}
