/**
 * Who may import whom (docs/architecture.md). Imports go down or stay in their own room: never up,
 * never sideways. Each third-party package has one door. Type-only imports count like others.
 */
import { type Finding, isDevelopment, listFiles, ROOT, readText, reportAndExit } from './files.ts'
import { type Import, importsOf, packageOf, resolveImport } from './imports.ts'

/** Rooms of the engine by floor. Rooms of floor 0 may also import the rooms to their right. */
const FLOORS: readonly (readonly string[])[] = [
  ['contract', 'schema', 'http2', 'http', 'socket', 'kit'],
  ['ir', 'cel', 'routing'],
  ['lifecycle', 'build', 'downstream', 'upstream', 'telemetry'],
  ['standalone', 'kubernetes', 'admin', 'workers'],
  ['process']
]

/** The composition roots, each with the registries that it alone may import. */
const ROOT_FILE = 'engine/process/main.ts'
const REGISTRIES: Readonly<Record<string, string>> = {
  'policies/index.ts': ROOT_FILE,
  'backends/index.ts': ROOT_FILE,
  'backends/jobs.ts': 'engine/process/jobs.ts'
}

/** Where each package may be imported by code that ships. A package that is missing here has no door. */
const DOORS: Readonly<Record<string, { readonly files: RegExp; readonly where: string }>> = {
  'uWebSockets.js': { files: /^engine\/downstream\/uws\//, where: 'engine/downstream/uws/' },
  undici: {
    files: /^engine\/http\/llhttp-binary\.ts$/,
    where: 'engine/http/llhttp-binary.ts (its llhttp, nothing else)'
  },
  yaml: { files: /^engine\/standalone\//, where: 'engine/standalone' },
  'js-yaml': { files: /^engine\/standalone\/source-events\.ts$/, where: 'engine/standalone/source-events.ts' },
  zod: { files: /^engine\/schema\//, where: 'engine/schema' },
  re2js: { files: /^engine\/kit\/pattern\.ts$/, where: 'engine/kit/pattern.ts' },
  piscina: { files: /^engine\/workers\/(?:offload|jobs)\.ts$/, where: 'engine/workers/{offload,jobs}.ts' },
  msgpackr: { files: /^backends\/mcp\/seal\.ts$/, where: 'backends/mcp/seal.ts' },
  bcryptjs: { files: /^engine\/kit\/password\/verify\.ts$/, where: 'engine/kit/password/verify.ts' },
  'unix-crypt-td-js': { files: /^engine\/kit\/password\/verify\.ts$/, where: 'engine/kit/password/verify.ts' },
  esbuild: { files: /^(?!)/, where: 'scripts' },
  ws: { files: /^(?!)/, where: 'tests' }
}

/** All breaches of the layering below `root`. */
export function checkLayers(root: string): Finding[] {
  const findings: Finding[] = []
  for (const file of listFiles(root)) {
    if (!/\.(?:ts|mjs)$/.test(file)) continue
    for (const entry of importsOf(readText(root, file))) {
      const message = judge(file, entry)
      if (message !== null) findings.push({ file, line: entry.line, message })
    }
  }
  return findings
}

/** Why `file` may not have this import, or null when it may. */
function judge(file: string, { specifier, byUrl }: Import): string | null {
  if (specifier.startsWith('../') && !byUrl)
    return `'${specifier}': write '#engine/...', '#policies/...' or '#backends/...'`
  if (isDevelopment(file)) return null
  const target = resolveImport(file, specifier)
  if (target === null) return specifier.startsWith('node:') ? null : judgePackage(file, packageOf(specifier))
  // Data that lies beside its code (a page, a schema) has no room of its own.
  if (byUrl && !/\.(?:ts|mjs)$/.test(target)) return null
  if (isDevelopment(target))
    return `${target} is for development (tests, bench, fuzz, scripts): code that ships cannot use it`
  const root = REGISTRIES[target]
  if (root !== undefined)
    return file === root ? null : `only ${root} may import ${target}: take the registry as an argument`
  return judgeRooms(file, target)
}

function judgePackage(file: string, name: string): string | null {
  const door = DOORS[name]
  if (door === undefined)
    return `package ${name} has no door: name one in scripts/layers.ts, with a note in docs/design`
  return door.files.test(file) ? null : `package ${name} may only be imported in ${door.where}`
}

function judgeRooms(file: string, target: string): string | null {
  const from = roomOf(file)
  const to = roomOf(target)
  if (from === null) return `${file} lies in no room of the house (scripts/layers.ts, docs/architecture.md)`
  if (to === null) return `${target} lies in no room of the house (scripts/layers.ts, docs/architecture.md)`
  if (to.wing !== null) return judgeWing(from, to, file)
  if (from.wing !== null && to.floor > 1)
    return `${from.wing} stand on floors 0 and 1: what ${to.name} has must arrive as an argument`
  if (from.name === to.name || to.floor < from.floor) return null
  if (to.floor > from.floor) return `import goes up, from ${place(from)} to ${place(to)}: pass it down as an argument`
  if (from.floor > 0) return `import goes sideways, from ${place(from)} to ${place(to)}: meet in engine/contract`
  if (to.position > from.position) return null
  return `import goes to the left on floor 0, from ${from.name} to ${to.name} (${FLOORS[0]!.join(' > ')})`
}

/** `to` lies in policies/ or backends/. */
function judgeWing(from: Room, to: Room, file: string): string | null {
  if (from.wing === null)
    return `the engine knows no ${to.wing} by name: it gets them from the registry, as an argument`
  if (from.wing !== to.wing) return `${from.wing} and ${to.wing} do not import each other`
  if (REGISTRIES[file] !== undefined || from.name === to.name || to.name === `${to.wing}/shared`) return null
  return `${from.name} may not import ${to.name}: what both need goes to ${to.wing}/shared or to floor 0`
}

interface Room {
  readonly name: string
  readonly floor: number
  /** Place on its floor, from the left. */
  readonly position: number
  readonly wing: 'policies' | 'backends' | null
}

function roomOf(path: string): Room | null {
  const [top, second = '', third = ''] = path.split('/')
  // One policy is one room (policies/<section>/<policy>); so is one kind of backend (backends/<kind>).
  if (top === 'policies') {
    const name =
      second === 'shared' || third === '' ? `policies/${second}` : `policies/${second}/${third.replace(/\.ts$/, '')}`
    return { name, floor: 2, position: 0, wing: 'policies' }
  }
  if (top === 'backends') return { name: `backends/${second}`, floor: 2, position: 0, wing: 'backends' }
  if (top !== 'engine') return null
  const name = third === '' ? undefined : second
  const floor = FLOORS.findIndex((rooms) => name !== undefined && rooms.includes(name))
  if (name === undefined || floor < 0) return null
  return { name, floor, position: FLOORS[floor]!.indexOf(name), wing: null }
}

function place(room: Room): string {
  return `${room.name} (floor ${room.floor})`
}

if (import.meta.main) reportAndExit('layers', checkLayers(ROOT))
