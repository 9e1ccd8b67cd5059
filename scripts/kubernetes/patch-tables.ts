/**
 * The tables of the tests of k8s.io/apimachinery/pkg/util/strategicpatch: original, patch and result. They are read
 * from the module where it lies, by a file that is built as one of that package.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { PatchError } from '#engine/kubernetes/provisioning/strategic-merge/directives.ts'
import { strategicMerge } from '#engine/kubernetes/provisioning/strategic-merge/merge.ts'
import { type PatchDefinitions, PatchSchema } from '#engine/kubernetes/provisioning/strategic-merge/patch-schema.ts'
import type { Raw } from '#engine/schema/placed.ts'
import { GoModule } from './go-module.ts'
import type { Judged } from './judge.ts'
import { MODULE } from './programs.ts'

const PACKAGE = 'k8s.io/apimachinery/pkg/util/strategicpatch'
const PRINTER = join(import.meta.dirname, 'patch-tables_test.go')

interface TableCase {
  readonly name: string
  readonly original: Raw
  readonly patch: Raw
  /** Absent: the patch is refused. */
  readonly result?: Raw
}

export function tableCases(): readonly Judged[] {
  const { cases, definitions } = printed()
  const schema = new PatchSchema(definitions, 'MergeItem')
  return cases.map((one) => ({ name: `strategicpatch: ${one.name}`, why: wrong(one, schema) }))
}

function wrong({ original, patch, result }: TableCase, schema: PatchSchema): string | null {
  let merged: Raw
  try {
    merged = strategicMerge(original, patch, schema)
  } catch (error) {
    if (!(error instanceof PatchError)) throw error
    return result === undefined ? null : `refused: ${error.path.join('.')} ${error.message}`
  }
  if (isDeepStrictEqual(merged, result)) return null
  return `${JSON.stringify({ original, patch })} became ${JSON.stringify(merged)}, not ${JSON.stringify(result)}`
}

function printed(): { readonly cases: readonly TableCase[]; readonly definitions: PatchDefinitions } {
  const module = new GoModule(MODULE, 'kubernetes')
  const source = module.run(['list', '-mod=readonly', '-f', '{{.Dir}}', PACKAGE]).trim()
  const folder = mkdtempSync(join(tmpdir(), 'weir-strategicpatch-'))
  try {
    // Files of modules cannot be added to: the package is built as if it lay here.
    const here = join(MODULE, 'strategicpatch')
    const files = readdirSync(source).filter((name) => name.endsWith('.go'))
    const replaced = Object.fromEntries(files.map((name) => [join(here, name), join(source, name)]))
    const overlay = join(folder, 'overlay.json')
    writeFileSync(overlay, JSON.stringify({ Replace: { ...replaced, [join(here, 'tables_test.go')]: PRINTER } }))
    const program = join(folder, 'tables')
    module.run(['test', '-vet=off', '-mod=readonly', '-c', '-overlay', overlay, '-o', program, './strategicpatch'])
    const text = execFileSync(program, ['-test.run', '^TestPrintTables$'], { cwd: source, encoding: 'utf8' })
    const lines = text
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
    return { cases: lines.slice(0, -1), definitions: lines.at(-1).definitions }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
