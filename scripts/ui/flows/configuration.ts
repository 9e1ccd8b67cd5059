import { equal } from 'node:assert/strict'
import type { Page } from 'playwright-core'
import type { Flow } from './flow.ts'

const open = (page: Page, text: string) =>
  page
    .locator('input[type=file]')
    .setInputFiles({ name: 'weir.yaml', mimeType: 'application/yaml', buffer: Buffer.from(text) })

export const configurationFlows: readonly Flow[] = [
  {
    page: 'configuration',
    does: 'writes the file, shows what differs, and brings the text before back',
    run: async (page, stage) => {
      const read = async () => {
        const answer = await fetch(`${stage.admin}/api/v1/configuration/text`)
        return ((await answer.json()) as { text: string }).text
      }
      const before = await read()
      await page.getByText('this is what runs').waitFor()
      const apply = page.getByRole('button', { name: 'Apply' })
      equal(await apply.isDisabled(), true)
      await open(page, `# written in the browser\n${before}`)
      await page.getByRole('button', { name: 'Differences' }).click()
      await page.locator('.cm-changedLine').first().waitFor()
      await page.locator('button.primary:not([disabled])', { hasText: 'Apply' }).click()
      await page.getByText('not written').waitFor({ state: 'detached' })
      equal(await read(), `# written in the browser\n${before}`)
      await page.getByRole('button', { name: 'Restore' }).first().click()
      await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
      equal(await read(), before)
      await page.getByText('this is what runs').waitFor()
    }
  },
  {
    page: 'configuration',
    does: 'checks a text as it is written, and goes to a mistake',
    run: async (page) => {
      await page.getByText('this is what runs').waitFor()
      const editor = page.getByRole('textbox', { name: 'Configuration' })
      const findings = page.getByRole('list', { name: 'Mistakes and warnings' })
      await open(page, 'binds:\n  - port: "eighty"\n    listeners: []\n')
      await findings.getByText('binds[0].port').waitFor()
      await findings.getByRole('button').first().click()
      equal(
        await editor.evaluate('document.querySelector(".editor").shadowRoot.activeElement?.className'),
        'cm-content'
      )
      // Keys of the page are letters in an editor.
      await page.keyboard.press('ControlOrMeta+End')
      await page.keyboard.type('prot: 80')
      await findings.getByText('prot').first().waitFor()
      await page.keyboard.type(' # ?')
      equal(await page.getByRole('dialog').count(), 0)
      await open(page, 'binds:\n  - port: 80\n    lis')
      await editor.click()
      await page.keyboard.press('ControlOrMeta+End')
      await page.keyboard.type('t')
      await page.getByRole('option', { name: /^listeners/ }).waitFor()
      await page.keyboard.press('Enter')
      equal(await page.locator('.cm-tooltip-autocomplete').count(), 0)
      await editor.getByText('listeners').waitFor()
      await open(
        page,
        'binds: [{ port: 18080, listeners: [{ routes: [{ policies: { directResponse: { status: 204 } } }] }] }]\n'
      )
      await page.getByText('it could run').waitFor()
    }
  },
  {
    page: 'configuration',
    does: 'shows what runs, and changes what is logged',
    run: async (page, stage) => {
      await page.getByText('binds (2)').click()
      await page.locator('details[open] pre').getByText('catalogue').waitFor()
      await page.getByLabel('Level').fill('loud')
      await page.getByRole('button', { name: 'Change' }).click()
      await page.locator('.wrong').waitFor()
      await page.getByLabel('Level').fill('warn')
      await page.getByRole('button', { name: 'Change' }).click()
      await page.getByText('Logs at warn').waitFor()
      const answer = await fetch(`${stage.admin}/api/v1/logging`)
      equal(((await answer.json()) as { level: string }).level, 'warn')
    }
  }
]
