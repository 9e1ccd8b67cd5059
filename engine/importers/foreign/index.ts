/** What a configuration may turn out to be. */
import { gathered, recognise } from './recognise.ts'

export const foreign = { recognise, gathered }
