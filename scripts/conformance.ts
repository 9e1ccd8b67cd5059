/**
 * `npm run conformance -- cel`: the published CEL conformance data (@bufbuild/cel-spec) against engine/cel.
 * Prints a line per section, the misses with `--misses`, and `cel: N passed, M failed`.
 *
 * `npm run conformance -- mcp [REVISION]`: the published MCP suite against a fixture, directly and through the gateway.
 * Prints `mcp REVISION: direct N passed, M failed; through N passed, M failed`, the scenarios that differ, and with
 * `--misses` why. Exit code 1: the gateway fails what passes without it.
 */
import { printCel, runCel } from '#engine/cel/testing/conformance.ts'
import { isWorse, printMcp, REVISIONS, runMcp } from './mcp/conformance.ts'

const [suite, ...rest] = process.argv.slice(2)
const withMisses = rest.includes('--misses')
const revisions = rest.filter((word) => !word.startsWith('--'))

if (suite === 'cel') {
  const report = runCel()
  for (const line of printCel(report, withMisses)) console.log(line)
  if (report.failed > report.known) process.exitCode = 1
} else if (suite === 'mcp' && revisions.every((revision) => REVISIONS.includes(revision))) {
  for (const comparison of await runMcp(revisions.length === 0 ? REVISIONS : revisions)) {
    for (const line of printMcp(comparison, withMisses)) console.log(line)
    if (isWorse(comparison)) process.exitCode = 1
  }
} else {
  console.error(`conformance: the suites are: cel, mcp (with ${REVISIONS.join(' or ')}, or both)`)
  process.exitCode = 2
}
