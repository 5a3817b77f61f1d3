"""Writes the files of large-texts.test."""
import pathlib

COUNT = 60000


def write(name, text):
    pathlib.Path(name).write_text(text, encoding="utf-8")


write("name.json", '{"' + "é" * 1000000 + 'x": 1}')
write("models.json", '{"models": [' + ",".join(f'"{i}"' for i in range(5 * COUNT)) + "]}")
write("attributes.xml", "<device " + " ".join(f"a{i}='\">'" for i in range(COUNT)) + "/>")
quotes = "<a " + "x='' " * 20000
write("comment.xml", f"<!-- {quotes} --><?p {quotes} ?><device><![CDATA[{quotes}]]></device>")
write("unclosed.xml", f"<!-- {quotes}")
write("quote.xml", "<device a='" + "x" * COUNT)
