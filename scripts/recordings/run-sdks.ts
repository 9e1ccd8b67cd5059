/** `npm run conformance -- recordings FOLDER --sdks`: what vendors' own clients say of each recorded answer. */
import { NPM_SDKS } from './npm-sdks.ts'
import { Player } from './play.ts'
import { pythonSdks } from './python-sdks.ts'
import { oddity, recordingsIn } from './read.ts'

interface Count {
  whole: number
  streamed: number
  /** With those that the client's own ways make. */
  differ: number
}

/** Known differences, by what clients raise or say: counted, and no failure. They were not tried without a gateway. */
const OWN_WAYS: readonly (readonly [sdk: RegExp, why: RegExp])[] = [
  // Their helpers for streams raise at these reasons to stop, and at what the provider adds to the format.
  [/^openai \(PyPI\), chat$/, /LengthFinishReasonError|ContentFilterFinishReasonError|index|AssertionError/],
  [/^openai \(npm\), chat$/, /missing role|object Object|^calls: /],
  [/^openai \((?:npm|PyPI)\), responses$/, /Unhandled response stream event|Didn't receive a `response.completed`/],
  // Counts and texts are made anew of pieces, and errors within streams are tried again.
  [/^litellm$/, /^output: |MidStreamFallbackError|InternalServerError|<thinking>/],
  [/^langchain$/, /^(?:in|out)put: /]
]

const isOwnWay = (sdk: string, why: readonly string[]): boolean =>
  why.every((one) => OWN_WAYS.some(([name, what]) => name.test(sdk) && what.test(one.replace(/^Error: /, ''))))

/** Whether each says what was recorded. `python` has the clients of PyPI; `only`: a part of the sources' names. */
export async function runSdks(
  print: (line: string) => void,
  python: string,
  folder: string,
  { only = '', withMisses = false } = {}
): Promise<boolean> {
  const { sdks: ofPython, close } = pythonSdks(python)
  const sdks = [...NPM_SDKS, ...ofPython]
  const counts = new Map(sdks.map(({ name }) => [name, { whole: 0, streamed: 0, differ: 0 } satisfies Count as Count]))
  const player = await Player.start()
  let failed = 0
  try {
    for (const recording of recordingsIn(folder)) {
      if (!recording.source.includes(only) || oddity(recording) !== null) continue
      for (const sdk of sdks) {
        const why = await player.playTo(recording, sdk)
        const count = counts.get(sdk.name)!
        count[recording.isStreamed ? 'streamed' : 'whole']++
        if (why.length === 0) continue
        count.differ++
        if (!isOwnWay(sdk.name, why)) failed++
        if (withMisses) print(`${recording.source} to ${sdk.name}: ${why.join(' | ')}`)
      }
    }
  } finally {
    await player.close()
    close()
  }
  print('| client | answers | streams | differ |\n|---|--:|--:|--:|')
  for (const [name, count] of counts) print(`| ${name} | ${count.whole} | ${count.streamed} | ${count.differ} |`)
  const all = [...counts.values()].reduce((sum, { whole, streamed }) => sum + whole + streamed, 0)
  print(`recordings, SDKs: ${all - failed} passed, ${failed} failed`)
  return failed === 0
}
