import { Buffer } from "node:buffer";
import { crc32, deflateRawSync } from "node:zlib";

/** Makes a zip archive (APPNOTE 4.3). @param claim false unpacked sizes, by the name of the part */
export function makeZip(
  parts: Readonly<Record<string, string | Buffer>>,
  claim: Readonly<Record<string, number>> = {},
): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(parts)) {
    const data = Buffer.from(content);
    const packed = deflateRawSync(data, { level: 1 });
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(8, 4);
    head.writeUInt32LE(crc32(data), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(claim[name] ?? data.length, 18);
    head.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), head, Buffer.from(name), packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    central.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), head, tail, Buffer.from(name)]));
    locals.push(local);
    offset += local.length;
  }
  const end = Buffer.alloc(18);
  end.writeUInt16LE(central.length, 4);
  end.writeUInt16LE(central.length, 6);
  end.writeUInt32LE(Buffer.concat(central).length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...locals, ...central, Buffer.from("PK\x05\x06"), end]);
}

const relations =
  '<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="/xl/worksheets/sheet2.xml"/></Relationships>';

const main = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const contentTypes =
  `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/xl/workbook.xml" ContentType="${main}.sheet.main+xml"/>` +
  `<Override PartName="/xl/worksheets/sheet1.xml" ContentType="${main}.worksheet+xml"/><Override PartName="/xl/worksheets/sheet2.xml" ContentType="${main}.worksheet+xml"/>` +
  `<Override PartName="/xl/styles.xml" ContentType="${main}.styles+xml"/><Override PartName="/xl/sharedStrings.xml" ContentType="${main}.sharedStrings+xml"/></Types>`;

/** Makes the parts of a workbook with two sheets. @param sheet the XML of the first sheet */
export function workbookParts(
  sheet: string | Buffer,
  { properties = "" } = {},
): Record<string, string | Buffer> {
  return {
    "[Content_Types].xml": contentTypes,
    "xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="x">${properties}<sheets><sheet name="One" r:id="rId1"/><sheet name="Two" r:id="rId2"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations,
    "xl/worksheets/sheet1.xml": sheet,
  };
}
