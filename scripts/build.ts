/**
 * The program as a few files in dist, which start without reading a hundred modules: weir.mjs is small, runs first and
 * starts the first worker; workers and the main thread begin with weir-main.mjs, the threads of the offload pool with
 * weir-jobs.mjs, that of the spend log with weir-spend.mjs, and what both need, or only one now and then, is in
 * weir-*.mjs beside them. uWebSockets.js stays outside: it is a native binary, and optional. ui/ has what the admin
 * port sends to browsers. licenses.txt has the terms of the packages that went in.
 */
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { type BuildOptions, build, type Metafile, type Plugin, transform } from 'esbuild'
import { binary } from '#engine/http/llhttp-binary.ts'
import { bundleUi } from './ui/bundle.ts'

const root = join(import.meta.dirname, '..')
/** `npm run build -- FILE` writes another file than dist/weir.mjs. */
const outfile = resolve(process.argv[2] ?? join(root, 'dist', 'weir.mjs'))

/** The WebAssembly binary as text: it would be read from node_modules otherwise. */
const inlineBinary: Plugin = {
  name: 'llhttp-binary',
  setup({ onLoad }) {
    onLoad({ filter: /llhttp-binary\.ts$/ }, () => ({
      contents: `export const binary = Buffer.from('${Buffer.from(binary).toString('base64')}', 'base64')`
    }))
  }
}

/** Translations of validation messages that are never shown: 400 KB of the schema library. */
const dropLocales: Plugin = {
  name: 'drop-locales',
  setup({ onLoad }) {
    onLoad({ filter: /zod\/v4\/locales\/[a-z-]+\.js$/i }, ({ path }) =>
      /(?:en|index)\.js$/.test(path) ? null : { contents: 'export default () => ({ localeError: () => undefined })' }
    )
  }
}

/** Short names inside packages; our own stay readable in stacks, and tell classes apart where one is asked for. */
const shortNames: Plugin = {
  name: 'short-names',
  setup({ onLoad }) {
    onLoad({ filter: /\/node_modules\/.*\.m?js$/ }, async ({ path }) => {
      const { code } = await transform(await readFile(path, 'utf8'), { minify: true, sourcefile: path })
      return { contents: code }
    })
  }
}

/**
 * node:http and node:https only when they are used (the admin servers, the demonstration): an import statement
 * of the bundle would load it in every thread, and with it, through its exports for ES modules, Node's
 * own copy of undici: 55 ms of each start.
 */
const lazyHttp: Plugin = {
  name: 'lazy-http',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:https?$/ }, ({ path }) => ({ path, namespace: 'lazy' }))
    onLoad({ filter: /.*/, namespace: 'lazy' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`
    }))
  }
}

const folder = dirname(outfile)
const entry = (name: string, out: string) => ({ in: join(root, 'engine', 'process', `${name}.ts`), out })
const options = {
  absWorkingDir: root,
  entryPoints: [
    entry('start', basename(outfile, '.mjs')),
    entry('main', 'weir-main'),
    entry('jobs', 'weir-jobs'),
    entry('spend-thread', 'weir-spend')
  ],
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  chunkNames: 'weir-[name]-[hash]',
  bundle: true,
  splitting: true,
  metafile: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  minifySyntax: true,
  minifyWhitespace: true,
  // licenses.txt has them all.
  legalComments: 'none',
  sourcemap: 'linked',
  // piscina starts its threads from files of its own package.
  external: ['uWebSockets.js', 'piscina'],
  plugins: [inlineBinary, dropLocales, shortNames, lazyHttp],
  // Bundled CommonJS asks for node's modules by require.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" }
} satisfies BuildOptions

/** What an earlier build has left: names of shared parts say what is in them. */
async function sweep(): Promise<void> {
  await mkdir(folder, { recursive: true })
  const old = (await readdir(folder)).filter((name) => /^weir-.*\.mjs(?:\.map|\.LEGAL\.txt)?$/.test(name))
  await Promise.all(old.map((name) => rm(join(folder, name))))
}

/** The packages that inputs of a bundle come from, as folders. */
function packagesIn({ inputs }: Pick<Metafile, 'inputs'>): string[] {
  const folders = Object.keys(inputs).map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
  return [...new Set(folders.filter((name) => name !== undefined))].toSorted()
}

async function licenseOf(path: string): Promise<string> {
  const { name, version, license } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8'))
  const file = (await readdir(path)).find((entry) => /^licen[cs]e/i.test(entry))
  const text = file === undefined ? `Licence: ${license}` : (await readFile(join(path, file), 'utf8')).trim()
  return `${name} ${version}\n\n${text}\n`
}

await sweep()
const [{ metafile }, ui] = await Promise.all([build(options), bundleUi(join(folder, 'ui'))])
await chmod(outfile, 0o755)
// The WebAssembly of llhttp is taken from undici's files without an import.
const packages = new Set([...packagesIn(metafile), ...packagesIn(ui.metafile), 'node_modules/undici'])
const licenses = await Promise.all([...packages].map((path) => licenseOf(join(root, path))))
await writeFile(join(folder, 'licenses.txt'), licenses.join(`\n${'-'.repeat(80)}\n\n`))
const bytes = Object.entries(metafile.outputs).reduce(
  (sum, [name, { bytes: own }]) => sum + (name.endsWith('.map') ? 0 : own),
  0
)
const kib = Math.round(bytes / 1024)
const uiKib = Math.round(ui.bytes / 1024)
process.stdout.write(`${relative(process.cwd(), outfile)}, and ${kib} KiB beside it; ui/: ${uiKib} KiB compressed\n`)
