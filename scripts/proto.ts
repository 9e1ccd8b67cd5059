/**
 * `npm run proto`: the .proto files of engine/proto -> the folder "generated" there, by ts-proto
 * (docs/design/032-grpc-and-protobuf.md). Generator and compiler (buf) come from npm for this run only: together they
 * are 120 MB, and the files change once a year. What was made of what is noted beside it; a test compares that.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './files.ts'

const BUF = '@bufbuild/buf@1.75.0'
const TS_PROTO = 'ts-proto@2.18.0'

const SOURCES = join(ROOT, 'engine', 'proto')
const GENERATED = join(SOURCES, 'generated')
const NOTE = join(GENERATED, 'made-from.json')

/** Static code for the wire only: no JSON, no reflection. */
const OPTIONS = [
  'env=node',
  'importSuffix=.ts',
  'forceLong=bigint',
  'useDate=false',
  'oneof=unions-value',
  'enumsAsLiterals=true',
  'unrecognizedEnum=false',
  'outputJsonMethods=false',
  'outputPartialMethods=false',
  'outputServices=none',
  'annotateFilesWithVersion=false'
]

/** What generated files are made from, and what they are. */
export interface MadeFrom {
  readonly tools: readonly string[]
  readonly options: readonly string[]
  /** SHA-256 of all .proto files, and of all generated files, each with its path. */
  readonly sources: string
  readonly generated: string
}

function digestOf(folder: string, suffix: string): string {
  const sum = createHash('sha256')
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith(suffix))
  for (const name of names.toSorted()) sum.update(`${name}\0${readFileSync(join(folder, name), 'utf8')}\0`)
  return sum.digest('hex')
}

/** As the files are now. */
export function madeFrom(): MadeFrom {
  return {
    tools: [BUF, TS_PROTO],
    options: OPTIONS,
    sources: digestOf(SOURCES, '.proto'),
    generated: digestOf(GENERATED, '.ts')
  }
}

/** As it was noted when they were made. */
export function noted(): unknown {
  return JSON.parse(readFileSync(NOTE, 'utf8'))
}

function generate(): void {
  const folder = mkdtempSync(join(tmpdir(), 'weir-proto-'))
  const plugin = {
    local: 'protoc-gen-ts_proto',
    out: GENERATED,
    opt: OPTIONS,
    include_imports: true,
    include_wkt: true
  }
  writeFileSync(join(folder, 'buf.yaml'), JSON.stringify({ version: 'v2', modules: [{ path: 'proto' }] }))
  writeFileSync(join(folder, 'buf.gen.yaml'), JSON.stringify({ version: 'v2', plugins: [plugin] }))
  execFileSync('cp', ['-r', SOURCES, join(folder, 'proto')])
  rmSync(GENERATED, { recursive: true, force: true })
  const npx = ['--yes', '--package', BUF, '--package', TS_PROTO, '--', 'buf', 'generate']
  execFileSync('npx', npx, { cwd: folder, stdio: 'inherit' })
  rmSync(folder, { recursive: true })
  writeFileSync(NOTE, `${JSON.stringify(madeFrom(), null, 2)}\n`)
}

if (import.meta.main) generate()
