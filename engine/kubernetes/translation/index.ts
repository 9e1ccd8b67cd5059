/** Resources -> the Snapshot of each Gateway, and what the statuses of all objects should say. */
export type { GatewayOutput, SnapshotPlace, Translation, TranslatorOptions } from './options.ts'
export { Translator } from './translator.ts'
