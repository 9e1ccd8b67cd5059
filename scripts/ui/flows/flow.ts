/** Something that people do on a page, in a real browser. */
import type { Page } from 'playwright-core'
import type { Stage } from '#scripts/ui/stage.ts'

export interface Flow {
  /** Its path below /ui/. */
  readonly page: string
  /** "goes to pages by keys". */
  readonly does: string
  /** Begins on the page, which has its first answers. Throws when something is not as it should be. */
  run(page: Page, stage: Stage): Promise<void>
}
