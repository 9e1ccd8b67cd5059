/**
 * What a format that clients speak declares of its requests. The tables of route types, of paths, of losses and of
 * instructions are derived from it.
 */
import type { ClientFormat, FormatRoutes, Json, JsonObject } from '#backends/llm/conversation.ts'
import type { ChatFormat } from './format.ts'
import type { ClientPaths } from './paths.ts'
import type { Prompt } from './prompt.ts'
import type { ToleratedFields } from './tolerated.ts'

/** Where requests of a format have instructions, besides turns. */
export interface InstructionFields {
  /** Fields of the body that hold them, in all spellings; none: they stand among the turns. */
  readonly fields: readonly string[]
  /** The list of turns that may have them, too; null: none may. */
  readonly list: string | null
  /** `body`, which has none, with the instructions `text`; null: it cannot have them. */
  write(body: JsonObject, text: string): JsonObject | null
}

/** Where requests of a format have settings that traces tell (usage/request-settings.ts). */
export interface SettingPaths {
  /** The object with the settings, which the paths begin in; null: `body` has none. Absent: it is `body` itself. */
  readonly of?: (body: JsonObject) => JsonObject | null
  /** What kind of text is wanted; the first that is there. */
  readonly outputs: readonly (readonly string[])[]
  /** What is wanted beside text. */
  readonly modalities: string | null
  readonly effort: readonly string[]
}

export interface ServedFormat<N extends ClientFormat = ClientFormat> extends ChatFormat {
  readonly name: N
  /** By which routes of a configuration name it. */
  readonly routeType: FormatRoutes[N]
  /** Ends of the paths at which `llm` serves it. */
  readonly pathEnds: readonly string[]
  readonly paths: ClientPaths
  /**
   * The paths of the parts of all turns in `body`; `sizes`: how many parts each turn has. Absent: each turn is one
   * message, and writers know the paths.
   */
  partPaths?(body: JsonObject, sizes: readonly number[]): readonly string[]
  readonly tolerated: ToleratedFields
  readonly instructions: InstructionFields
  /** `body` with messages of the configuration around its own. `hasEnd`: instructions may stand behind turns. */
  withPrompt(body: JsonObject, prompt: Prompt, hasEnd: boolean): JsonObject
  /** Reads model and streaming from the path. Throws FormatError. Absent: the body has `model` and `stream`. */
  readPath?(path: string): { readonly model: string; readonly isStreamed: boolean }
  /** How many choices `body` asks for, where the format has such a field. */
  choiceCount?(body: JsonObject): Json | undefined
  readonly settings: SettingPaths
}
