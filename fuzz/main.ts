/**
 * `npm run fuzz`: attacks every target in fuzz/targets/ (see fuzz/README.md).
 * Exit codes: 0 no fault, 1 a fault was found, 2 wrong usage.
 */
import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, dirname, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CORPUS, loadTarget, targetFiles } from './target.ts'
import { fuzz } from './watch.ts'

const USAGE = `usage: npm run fuzz -- [--target NAME] [--seconds N] [--seed N]
       npm run fuzz -- --replay FILE [--target NAME]

  --target NAME   only this target (default: all, one after the other)
  --seconds N     time for each target (default 10)
  --seed N        start of the random sequence (default: a new one, printed)
  --replay FILE   one run with this input; its target is named by the folder it lies in
`

interface Options {
  readonly target: string | null
  readonly seconds: number
  readonly seed: number
  readonly replay: string | null
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      target: { type: 'string' },
      seconds: { type: 'string', default: '10' },
      seed: { type: 'string', default: String(randomInt(2 ** 32)) },
      replay: { type: 'string' }
    }
  })
  const seconds = Number(values.seconds)
  const seed = Number(values.seed)
  if (!(seconds > 0)) throw new Error(`--seconds ${values.seconds}: a number above zero`)
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32) throw new Error(`--seed ${values.seed}: 0 to 4294967295`)
  return { target: values.target ?? null, seconds, seed, replay: values.replay ?? null }
}

/** Files of the targets that were asked for. */
function chosen(name: string | null): string[] {
  const files = targetFiles()
  if (name === null) return files
  const found = files.filter((file) => basename(file, '.ts') === name)
  if (found.length === 0)
    throw new Error(`no target ${name}; there are ${files.map((f) => basename(f, '.ts')).join(', ')}`)
  return found
}

/** Fuzzes one target and prints what came of it. True: no fault. */
async function attack(file: string, { seconds, seed }: Options): Promise<boolean> {
  const name = basename(file, '.ts')
  const { runs, fault, file: kept } = await fuzz({ file, corpus: CORPUS, seconds, seed })
  if (fault === null || kept === null) {
    console.log(`${name}: ${runs} runs in ${seconds} s, seed ${seed}: no fault`)
    return true
  }
  console.log(`${name}: FAULT after ${runs} runs, seed ${seed}: ${fault}`)
  console.log(`  kept:   ${relative('.', kept)}`)
  console.log(`  replay: npm run fuzz -- --replay ${relative('.', kept)}`)
  return false
}

async function replay(path: string, name: string): Promise<void> {
  const [file] = chosen(name)
  const target = await loadTarget(file!)
  const data = readFileSync(path)
  const startedAt = performance.now()
  await target.run(data)
  console.log(`${name}: ${data.length} bytes in ${(performance.now() - startedAt).toFixed(1)} ms: no fault`)
}

async function main(args: readonly string[]): Promise<void> {
  let options: Options
  let files: string[]
  try {
    options = readOptions(args)
    files = chosen(options.target)
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`)
    process.exitCode = 2
    return
  }
  if (options.replay !== null) {
    await replay(options.replay, options.target ?? basename(dirname(resolve(options.replay))))
    return
  }
  for (const file of files) if (!(await attack(file, options))) process.exitCode = 1
}

await main(process.argv.slice(2))
