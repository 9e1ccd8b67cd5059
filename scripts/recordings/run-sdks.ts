/** `npm run conformance -- recordings FOLDER --sdks`: what vendors' own clients say of each recorded answer. */
import type { Installed } from '#scripts/llm-clients/install.ts'
import { aiSdks } from './ai-sdks.ts'
import { NPM_SDKS } from './npm-sdks.ts'
import { Player } from './play.ts'
import { pythonSdks } from './python-sdks.ts'
import { oddity, recordingsIn } from './read.ts'

interface Count {
  whole: number
  streamed: number
  /** Differences that the client makes alone as well: of what its own vendor would answer, or of the recording. */
  vendor: number
  recording: number
  failed: number
}

/** Whether each says what was recorded. `only`: a part of the sources' names. */
export async function runSdks(
  print: (line: string) => void,
  { python, npm }: Installed,
  folder: string,
  { only = '', withMisses = false } = {}
): Promise<boolean> {
  const { sdks: ofPython, close } = pythonSdks(python)
  const sdks = [...NPM_SDKS, ...(await aiSdks(npm)), ...ofPython]
  const counts = new Map(sdks.map(({ name }) => [name, newCount()]))
  const player = await Player.start()
  try {
    for (const recording of recordingsIn(folder)) {
      if (!recording.source.includes(only) || oddity(recording) !== null) continue
      for (const sdk of sdks) {
        const why = await player.playTo(recording, sdk)
        const count = counts.get(sdk.name)!
        count[recording.isStreamed ? 'streamed' : 'whole']++
        if (why.length === 0) continue
        const origin = (await player.originOf(why, recording, sdk)) ?? 'failed'
        count[origin]++
        if (withMisses) print(`${recording.source} to ${sdk.name} (${origin}): ${why.join(' | ')}`)
      }
    }
  } finally {
    await player.close()
    close()
  }
  for (const line of tableOf(counts)) print(line)
  const all = [...counts.values()]
  const failed = all.reduce((sum, one) => sum + one.failed, 0)
  const total = all.reduce((sum, { whole, streamed }) => sum + whole + streamed, 0)
  print(`recordings, SDKs: ${total - failed} passed, ${failed} failed`)
  return failed === 0
}

const newCount = (): Count => ({ whole: 0, streamed: 0, vendor: 0, recording: 0, failed: 0 })

/** Differences that are the client's own are counted by what it was shown without a gateway. */
function tableOf(counts: ReadonlyMap<string, Count>): string[] {
  const head = '| client | answers | streams | its own, of any answer | its own, of this one | failed |'
  const rows = [...counts].map(
    ([name, { whole, streamed, vendor, recording, failed }]) =>
      `| ${[name, whole, streamed, vendor, recording, failed].join(' | ')} |`
  )
  return [head, '|---|--:|--:|--:|--:|--:|', ...rows]
}
