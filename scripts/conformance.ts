/**
 * `npm run conformance -- cel`: the published CEL conformance data (@bufbuild/cel-spec) against engine/cel.
 * Prints a line per section, the misses with `--misses`, and `cel: N passed, M failed`.
 */
import { printCel, runCel } from '#engine/cel/testing/conformance.ts'

const [suite, ...flags] = process.argv.slice(2)
if (suite !== 'cel') {
  console.error('conformance: the suites are: cel')
  process.exitCode = 2
} else {
  const report = runCel()
  for (const line of printCel(report, flags.includes('--misses'))) console.log(line)
  if (report.failed > report.known) process.exitCode = 1
}
