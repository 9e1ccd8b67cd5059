/**
 * Who may import whom (docs/architecture.md). Imports go down or stay in their own module: never up, never sideways,
 * never in a circle. Each third-party package is imported in one place. Type-only imports count like others.
 */
import { checkCircles } from './circles.ts'
import { type Finding, isDevelopment, listFiles, ROOT, readText, reportAndExit } from './files.ts'
import { type Import, importsOf, packageOf, resolveImport } from './imports.ts'

/** The engine's modules by layer, the lowest first. Modules of layer 0 may also import those to their right. */
const LAYERS: readonly (readonly string[])[] = [
  ['contract', 'schema', 'http2', 'http', 'socket', 'redis', 'kit'],
  ['ir', 'cel', 'routing', 'service', 'proto', 'accounts', 'spend', 'prices'],
  ['lifecycle', 'build', 'downstream', 'upstream', 'telemetry', 'story', 'importers'],
  ['source'],
  ['standalone', 'kubernetes', 'admin', 'workers', 'explain'],
  ['process', 'ui']
]

/** The composition roots, each with the registries that it alone may import. */
const ROOT_FILE = 'engine/process/main.ts'
const REGISTRIES: Readonly<Record<string, string>> = {
  'policies/index.ts': ROOT_FILE,
  'backends/index.ts': ROOT_FILE,
  'backends/demo/index.ts': ROOT_FILE,
  'backends/demo/mcp-servers/index.ts': 'engine/process/commands.ts',
  'backends/jobs.ts': 'engine/process/jobs.ts'
}

const EDITOR = { files: /^engine\/ui\/parts\/editor-view\.ts$/, where: 'engine/ui/parts/editor-view.ts' }

/** Where each package may be imported by code that ships: nowhere when it is missing here. */
const PACKAGES: Readonly<Record<string, { readonly files: RegExp; readonly where: string }>> = {
  'uWebSockets.js': { files: /^engine\/downstream\/uws\//, where: 'engine/downstream/uws/' },
  undici: {
    files: /^engine\/http\/llhttp-binary\.ts$/,
    where: 'engine/http/llhttp-binary.ts (its llhttp, nothing else)'
  },
  yaml: { files: /^engine\/standalone\//, where: 'engine/standalone' },
  'js-yaml': { files: /^engine\/standalone\/source-events\.ts$/, where: 'engine/standalone/source-events.ts' },
  zod: { files: /^engine\/schema\//, where: 'engine/schema' },
  re2js: { files: /^engine\/kit\/pattern\.ts$/, where: 'engine/kit/pattern.ts' },
  '@bufbuild/protobuf': { files: /^engine\/proto\//, where: 'engine/proto' },
  piscina: { files: /^engine\/workers\/(?:offload|jobs)\.ts$/, where: 'engine/workers/{offload,jobs}.ts' },
  msgpackr: {
    files: /^(?:backends\/mcp\/session\/seal|engine\/kubernetes\/stream\/records)\.ts$/,
    where: 'backends/mcp/session/seal.ts, engine/kubernetes/stream/records.ts'
  },
  bcryptjs: { files: /^engine\/kit\/password\/verify\.ts$/, where: 'engine/kit/password/verify.ts' },
  'unix-crypt-td-js': { files: /^engine\/kit\/password\/verify\.ts$/, where: 'engine/kit/password/verify.ts' },
  ioredis: { files: /^engine\/redis\//, where: 'engine/redis' },
  pg: { files: /^engine\/accounts\/server\/postgres\//, where: 'engine/accounts/server/postgres' },
  preact: { files: /^engine\/ui\//, where: 'engine/ui' },
  uplot: { files: /^engine\/ui\/parts\/chart\.tsx$/, where: 'engine/ui/parts/chart.tsx' },
  '@preact/signals': { files: /^engine\/ui\//, where: 'engine/ui' },
  '@codemirror/autocomplete': EDITOR,
  '@codemirror/commands': EDITOR,
  '@codemirror/lang-yaml': EDITOR,
  '@codemirror/language': EDITOR,
  '@codemirror/lint': EDITOR,
  '@codemirror/merge': EDITOR,
  '@codemirror/state': EDITOR,
  '@codemirror/view': EDITOR,
  '@lezer/highlight': EDITOR,
  esbuild: { files: /^(?!)/, where: 'scripts' },
  ws: { files: /^(?!)/, where: 'tests' }
}

/** All breaches of the layering below `root`. */
export function checkLayers(root: string): Finding[] {
  const findings: Finding[] = []
  const imports = new Map<string, readonly Import[]>()
  for (const file of listFiles(root)) {
    if (!/\.(?:tsx?|mjs)$/.test(file)) continue
    imports.set(file, importsOf(readText(root, file)))
    for (const entry of imports.get(file)!) {
      const message = judge(file, entry)
      if (message !== null) findings.push({ file, line: entry.line, message })
    }
  }
  findings.push(...checkCircles(imports))
  return findings
}

/** Why `file` may not have this import, or null when it may. */
function judge(file: string, { specifier, byUrl }: Import): string | null {
  if (specifier.startsWith('../') && !byUrl)
    return `'${specifier}': write '#engine/...', '#policies/...' or '#backends/...'`
  if (isDevelopment(file)) return null
  const target = resolveImport(file, specifier)
  if (target === null) return specifier.startsWith('node:') ? null : judgePackage(file, packageOf(specifier))
  // Data that lies beside its code (a page, a schema) belongs to no module.
  if (byUrl && !/\.(?:ts|mjs)$/.test(target)) return null
  if (isDevelopment(target))
    return `${target} is for development (tests, bench, fuzz, scripts): code that ships cannot use it`
  const root = REGISTRIES[target]
  if (root !== undefined)
    return file === root ? null : `only ${root} may import ${target}: take the registry as an argument`
  return judgeModules(file, target)
}

function judgePackage(file: string, name: string): string | null {
  const allowed = PACKAGES[name]
  if (allowed === undefined)
    return `package ${name} is not listed: name the one place for it in scripts/layers.ts, with a note in docs/design`
  return allowed.files.test(file) ? null : `package ${name} may only be imported in ${allowed.where}`
}

function judgeModules(file: string, target: string): string | null {
  const from = moduleOf(file)
  const to = moduleOf(target)
  if (from === null) return `${file} belongs to no module (scripts/layers.ts, docs/architecture.md)`
  if (to === null) return `${target} belongs to no module (scripts/layers.ts, docs/architecture.md)`
  if (to.tree !== 'engine') return judgeExtension(from, to, file)
  if (from.tree !== 'engine')
    return to.layer > 1 ? `${from.tree} use layers 0 and 1: what ${to.name} has must arrive as an argument` : null
  if (from.name === to.name || to.layer < from.layer) return null
  if (to.layer > from.layer) return `import goes up, from ${place(from)} to ${place(to)}: pass it down as an argument`
  if (from.layer > 0) return `import goes sideways, from ${place(from)} to ${place(to)}: meet in engine/contract`
  if (to.position > from.position) return null
  return `import goes to the left in layer 0, from ${from.name} to ${to.name} (${LAYERS[0]!.join(' > ')})`
}

/** `to` lies in policies/ or backends/. */
function judgeExtension(from: Module, to: Module, file: string): string | null {
  if (from.tree === 'engine')
    return `the engine knows no ${to.tree} by name: it gets them from the registry, as an argument`
  if (from.tree !== to.tree) return `${from.tree} and ${to.tree} do not import each other`
  if (REGISTRIES[file] !== undefined || from.name === to.name || to.name === `${to.tree}/shared`) return null
  return `${from.name} may not import ${to.name}: what both need goes to ${to.tree}/shared or to layer 0`
}

interface Module {
  readonly name: string
  readonly tree: 'engine' | 'policies' | 'backends'
  readonly layer: number
  /** Place in its layer, from the left. */
  readonly position: number
}

function moduleOf(path: string): Module | null {
  const [tree, second = '', third = ''] = path.split('/')
  // One policy is one module (policies/<section>/<policy>); so is one kind of backend (backends/<kind>).
  if (tree === 'policies') {
    const name =
      second === 'shared' || third === '' ? `policies/${second}` : `policies/${second}/${third.replace(/\.ts$/, '')}`
    return { name, tree, layer: 2, position: 0 }
  }
  if (tree === 'backends') return { name: `backends/${second}`, tree, layer: 2, position: 0 }
  if (tree !== 'engine' || third === '') return null
  const layer = LAYERS.findIndex((modules) => modules.includes(second))
  return layer < 0 ? null : { name: second, tree, layer, position: LAYERS[layer]!.indexOf(second) }
}

function place({ name, layer }: Module): string {
  return `${name} (layer ${layer})`
}

if (import.meta.main) reportAndExit('layers', checkLayers(ROOT))
