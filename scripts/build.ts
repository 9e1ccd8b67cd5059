/**
 * The program as three files in dist, which start without reading a hundred modules: weir.mjs is small, runs first and
 * starts the first worker; that and the rest of the main thread are weir-main.mjs; the threads of the offload pool run
 * weir-jobs.mjs. uWebSockets.js stays outside: it is a native binary, and optional.
 */
import { chmod, stat } from 'node:fs/promises'
import { dirname, join, relative, resolve } from 'node:path'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { binary } from '#engine/http/llhttp-binary.ts'

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

/**
 * node:http only when somebody asks for it (the admin servers, the demonstration): an import statement
 * of the bundle would load it in every thread, and with it, through its exports for ES modules, Node's
 * own copy of undici: 55 ms of each start.
 */
const lazyHttp: Plugin = {
  name: 'lazy-http',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:http$/ }, ({ path }) => ({ path, namespace: 'lazy' }))
    onLoad({ filter: /.*/, namespace: 'lazy' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`
    }))
  }
}

/** What weir.mjs loads while the first worker starts. */
const mainBeside: Plugin = {
  name: 'main-beside',
  setup({ onResolve }) {
    onResolve({ filter: /^\.\/main\.ts$/ }, () => ({ path: './weir-main.mjs', external: true }))
  }
}

const options: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'linked',
  sourcemap: 'linked',
  // piscina starts its threads from files of its own package.
  external: ['uWebSockets.js', 'piscina'],
  plugins: [inlineBinary, dropLocales, lazyHttp],
  // Bundled CommonJS asks for node's modules by require.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" }
}
const engine = (name: string) => [join(root, 'engine', name)]
const beside = (name: string) => join(dirname(outfile), name)
const start = { ...options, plugins: [mainBeside], entryPoints: engine('process/start.ts'), outfile }
await build(start)
await build({ ...options, entryPoints: engine('process/main.ts'), outfile: beside('weir-main.mjs') })
await build({ ...options, entryPoints: engine('process/jobs.ts'), outfile: beside('weir-jobs.mjs') })
await chmod(outfile, 0o755)
const size = (await stat(beside('weir-main.mjs'))).size / 1024
process.stdout.write(`${relative(process.cwd(), outfile)}, and weir-main.mjs beside it: ${size.toFixed(0)} KiB\n`)
