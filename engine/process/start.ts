/**
 * What runs first, and only in the main thread: it starts the thread of the first worker, and loads the rest of the
 * program beside it. Both take as long.
 */
import { availableParallelism } from 'node:os'
import { setFlagsFromString } from 'node:v8'
import { allowLargeHeads } from '#engine/downstream/uws/library.ts'
import { heapMbFor, ThreadAhead } from '#engine/workers/thread.ts'
import { EXIT_OK, readArguments } from './cli.ts'

/** Nothing is served yet: whoever asks for the end gets it (program.ts listens later). */
const endEarly = (): void => process.exit(EXIT_OK)
process.once('SIGTERM', endEarly)
process.once('SIGINT', endEarly)
// The file is about to be read.
const readLater = (): void => {}
process.on('SIGHUP', readLater)

allowLargeHeads()
// Little survives a request: V8's helper threads take longer to wake than to collect what is left
// (2.4 % of all CPU time, docs/design/008-header-table.md), and with a worker per core none is idle.
setFlagsFromString('--no-parallel-scavenge')
// A request passes through many small functions: let the compiler join more of them (same note).
setFlagsFromString('--max-inlined-bytecode-size=1000')
setFlagsFromString('--max-inlined-bytecode-size-cumulative=3000')
// No object of a request lives long, whatever V8 concludes from those that were there when it looked: one that it
// puts into the old generation at once keeps all that it refers to alive until that is collected (same note).
setFlagsFromString('--no-allocation-site-pretenuring')

/** The module that threads run: beside this one, or beside the bundle that holds it. */
const entry = import.meta.url.endsWith('.ts')
  ? new URL('./main.ts', import.meta.url)
  : new URL('./weir-main.mjs', import.meta.url)
const command = readArguments(process.argv.slice(2))
const ahead = command.kind === 'run' ? new ThreadAhead(entry, heapMbFor(availableParallelism())) : null
const { run } = await import('./main.ts')
const begin = (): void => {
  process.off('SIGTERM', endEarly)
  process.off('SIGINT', endEarly)
  process.off('SIGHUP', readLater)
}
await run(command, { entry, program: new URL(import.meta.url), ahead, begin })
